# From raw images to a set without near duplicates, balanced by clusters and with a map: docs/how-to/embeddings.md has these lines.
jinx convert llava_665k.json photos.jinx --embed image --root images
jinx info photos.jinx
python -c "import io, jinx, numpy as np; from PIL import Image; ds = jinx.open('photos.jinx'); embed = lambda s: np.asarray(Image.open(io.BytesIO(s['image'])).convert('RGB').resize((8, 8)), np.float16).ravel(); ds.with_columns({'emb': np.stack([embed(s) for s in ds])}).save('embedded.jinx')"
jinx vector-index embedded.jinx --column emb
python -c "import jinx; ds = jinx.open('embedded.jinx'); print(ds.nearest(ds[0]['emb'], 'emb', k=3, index=True))"
echo '{dataset: {path: embedded.jinx}, process: [{semantic_deduplicator: {vector_field: emb, threshold: 0.999}}], export: {path: unique.jinx, kind: view}}' > unique.yaml; jinx-pipeline run unique.yaml
echo '{dataset: {path: unique.jinx}, process: [{cluster_balanced_selector: {vector_field: emb, select_num: 4}}], export: {path: balanced.jinx, kind: view}}' > balanced.yaml; jinx-pipeline run balanced.yaml
echo '{dataset: {path: balanced.jinx}, process: [{vector_map_mapper: {vector_field: emb}}], export: {path: mapped.jinx, kind: view}}' > mapped.yaml; jinx-pipeline run mapped.yaml
jinx head -1 mapped.jinx --no-binary
jinx convert mapped.jinx clean.jinx
