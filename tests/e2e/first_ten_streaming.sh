# The first ten commands of somebody who trained from shards on many ranks.
python -c "import jinx; w = jinx.Writer('shards', shard_size='100kB'); [w.write({'n': n, 'image': bytes([n % 256]) * 900}) for n in range(2000)]; print(w.close())"
jinx info shards
python -c "import jinx; ds = jinx.open('shards'); print(len(ds), ds[1999]['n'])"
python -c "import jinx; print(len(jinx.open('shards').shuffle(7).shard(num_shards=8, index=0, remainder='drop')))"
python -c "import jinx, jinx.torch; from torch.utils.data import DataLoader; print(sum(len(b['n']) for b in DataLoader(jinx.open('shards'), 64, shuffle=True, num_workers=2, collate_fn=jinx.torch.collate)))"
jinx convert 'wds-*.tar' tars --part 0/2
jinx convert 'wds-*.tar' tars --part 1/2
jinx merge tars
jinx cp shards copy && jinx mv copy moved && jinx rm moved
jinx verify shards tars
