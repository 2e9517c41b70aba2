-- What claims are submitted to: which version of a protocol decides, until when and how
-- many. How many claims are in each status is counted by the store itself.
CREATE TABLE claim_collections (
	nid         BIGINT PRIMARY KEY,
	ws          TEXT COLLATE "C" NOT NULL,
	project     TEXT NOT NULL,
	name        TEXT NOT NULL,
	description TEXT NOT NULL,
	protocol    TEXT NOT NULL,
	version     TEXT NOT NULL,
	state       TEXT NOT NULL,
	quota       BIGINT NOT NULL,
	starts      BIGINT NOT NULL,
	ends        BIGINT NOT NULL,
	revision    BIGINT NOT NULL,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	actor       TEXT NOT NULL,
	pending     BIGINT NOT NULL DEFAULT 0,
	flagged     BIGINT NOT NULL DEFAULT 0,
	disputed    BIGINT NOT NULL DEFAULT 0,
	approved    BIGINT NOT NULL DEFAULT 0,
	rejected    BIGINT NOT NULL DEFAULT 0,
	invalidated BIGINT NOT NULL DEFAULT 0,
	withdrawn   BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX claim_collections_list ON claim_collections (ws, nid);
CREATE INDEX claims_collection ON claims (collection, nid) WHERE collection <> 0;
CREATE FUNCTION claims_collected() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'INSERT' THEN
		UPDATE claim_collections SET pending = pending + (NEW.status = 'pending')::int, flagged = flagged + (NEW.status = 'flagged')::int, disputed = disputed + (NEW.status = 'disputed')::int, approved = approved + (NEW.status = 'approved')::int,
		rejected = rejected + (NEW.status = 'rejected')::int, invalidated = invalidated + (NEW.status = 'invalidated')::int, withdrawn = withdrawn + (NEW.status = 'withdrawn')::int WHERE nid = NEW.collection;
	END IF;
	IF TG_OP = 'DELETE' THEN
		UPDATE claim_collections SET pending = pending - (OLD.status = 'pending')::int, flagged = flagged - (OLD.status = 'flagged')::int, disputed = disputed - (OLD.status = 'disputed')::int, approved = approved - (OLD.status = 'approved')::int,
		rejected = rejected - (OLD.status = 'rejected')::int, invalidated = invalidated - (OLD.status = 'invalidated')::int, withdrawn = withdrawn - (OLD.status = 'withdrawn')::int WHERE nid = OLD.collection;
	END IF;
	IF TG_OP = 'UPDATE' THEN
		UPDATE claim_collections SET pending = pending + (NEW.status = 'pending')::int - (OLD.status = 'pending')::int, flagged = flagged + (NEW.status = 'flagged')::int - (OLD.status = 'flagged')::int, disputed = disputed + (NEW.status = 'disputed')::int - (OLD.status = 'disputed')::int, approved = approved + (NEW.status = 'approved')::int - (OLD.status = 'approved')::int,
		rejected = rejected + (NEW.status = 'rejected')::int - (OLD.status = 'rejected')::int, invalidated = invalidated + (NEW.status = 'invalidated')::int - (OLD.status = 'invalidated')::int, withdrawn = withdrawn + (NEW.status = 'withdrawn')::int - (OLD.status = 'withdrawn')::int WHERE nid = NEW.collection;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER claims_collected_in AFTER INSERT ON claims FOR EACH ROW WHEN (NEW.collection <> 0) EXECUTE FUNCTION claims_collected();
CREATE TRIGGER claims_collected_out AFTER DELETE ON claims FOR EACH ROW WHEN (OLD.collection <> 0) EXECUTE FUNCTION claims_collected();
CREATE TRIGGER claims_collected_move AFTER UPDATE OF status ON claims FOR EACH ROW WHEN (NEW.collection <> 0 AND OLD.status <> NEW.status) EXECUTE FUNCTION claims_collected();
