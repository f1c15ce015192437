# A master that hands out work to the others.
cl <- makeCluster()
r <- clusterApply(cl, 1:12, function(i) sum(sqrt(1:i)))
s <- parSapply(cl, 1:20, function(i) i^2)
cat("sums:", format(sum(unlist(r)), digits = 10), sum(s), "\n")
stopCluster(cl)
