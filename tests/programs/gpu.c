/* Stands in for a library of GPUs, of which only its name is looked at. */
int collbench_test_no_gpu(void)
{
    return 0;
}
