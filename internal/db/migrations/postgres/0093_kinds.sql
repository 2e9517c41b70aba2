-- What was claimed is compared without regard to capitals.
UPDATE claim_cover SET kind = lower(kind) WHERE kind <> lower(kind);
