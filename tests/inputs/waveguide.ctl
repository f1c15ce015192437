; A bent waveguide, some hundred steps.
(set! geometry-lattice (make lattice (size 8 8 no-size)))
(set! geometry (list
  (make block (center -1 -1) (size 6 1 infinity) (material (make dielectric (epsilon 12))))
  (make block (center 1 1) (size 1 5 infinity) (material (make dielectric (epsilon 12))))))
(set! pml-layers (list (make pml (thickness 1.0))))
(set! resolution 8)
(set! sources (list (make source (src (make continuous-src (frequency 0.15)))
  (component Ez) (center -3 -1) (size 0 1))))
(run-until 20
  (at-every 5 (lambda () (print "field:, " (meep-time) ", "
    (real-part (get-field-point Ez (vector3 1 1))) "\n")))
  (at-end output-efield-z))
