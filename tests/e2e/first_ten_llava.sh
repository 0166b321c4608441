# The first ten commands of somebody with llava_665k.json and a directory of images.
jinx --help
jinx head -1 llava_665k.json
jinx convert llava_665k.json llava.jinx --embed image --root images
jinx info llava.jinx
jinx head -2 llava.jinx --no-binary
jinx get llava.jinx 0 image > first.jpg
jinx get llava.jinx 0 conversations
jinx extract llava.jinx out-images --column image --limit 3
jinx verify llava.jinx
python -c "import jinx; ds = jinx.open('llava.jinx', decode=True); print(ds, ds[0], ds[0]['image'].size)"
