# A graph of 20 by 20 vertices in a grid, as Scotch reads it.
awk 'BEGIN{n=20;print 0; print n*n, 4*n*(n-1); print "0 000"; for(y=0;y<n;y++)for(x=0;x<n;x++){s="";k=0; if(x>0){s=s" "(y*n+x-1);k++} if(x<n-1){s=s" "(y*n+x+1);k++} if(y>0){s=s" "((y-1)*n+x);k++} if(y<n-1){s=s" "((y+1)*n+x);k++} print k s}}' > grid.grf
