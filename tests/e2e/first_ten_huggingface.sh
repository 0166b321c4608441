# The first ten commands of somebody with a directory from the Hub.
jinx info hub/data/train-00000-of-00002.parquet || test $? -ne 0
jinx head -1 hub/data/train-00000-of-00002.parquet --no-binary
jinx convert hub data --shard-size 1MB
jinx info data/train
python -c "import jinx; print(jinx.open('data', split='test'))"
python -c "import jinx; ds = jinx.open('data/train'); print(ds.column_names, ds.select_columns(['id'])[0])"
python -c "import jinx; ds = jinx.open('data/train'); print(ds.filter(ds['score'] > 0.5).sort('score').shuffle(seed=1)[:3])"
python -c "import jinx; print(next(iter(jinx.open('data/train').to_hf(streaming=True)))['image'])"
python -c "import datasets, jinx; print(jinx.convert(datasets.load_dataset('parquet', data_files='hub/data/test*', cache_dir='c')['train'], 'one.jinx'))"
jinx convert data/train back --output-format parquet
