-- What claims are submitted to: which version of a protocol decides, until when and how
-- many. How many claims are in each status is counted by the store itself.
CREATE TABLE claim_collections (
	nid         INTEGER PRIMARY KEY,
	ws          TEXT NOT NULL,
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
CREATE TRIGGER claims_collected_in AFTER INSERT ON claims WHEN NEW.collection <> 0 BEGIN
	UPDATE claim_collections SET pending = pending + (NEW.status = 'pending'), flagged = flagged + (NEW.status = 'flagged'), disputed = disputed + (NEW.status = 'disputed'), approved = approved + (NEW.status = 'approved'),
		rejected = rejected + (NEW.status = 'rejected'), invalidated = invalidated + (NEW.status = 'invalidated'), withdrawn = withdrawn + (NEW.status = 'withdrawn') WHERE nid = NEW.collection;
END;
CREATE TRIGGER claims_collected_out AFTER DELETE ON claims WHEN OLD.collection <> 0 BEGIN
	UPDATE claim_collections SET pending = pending - (OLD.status = 'pending'), flagged = flagged - (OLD.status = 'flagged'), disputed = disputed - (OLD.status = 'disputed'), approved = approved - (OLD.status = 'approved'),
		rejected = rejected - (OLD.status = 'rejected'), invalidated = invalidated - (OLD.status = 'invalidated'), withdrawn = withdrawn - (OLD.status = 'withdrawn') WHERE nid = OLD.collection;
END;
CREATE TRIGGER claims_collected_move AFTER UPDATE OF status ON claims WHEN NEW.collection <> 0 AND OLD.status <> NEW.status BEGIN
	UPDATE claim_collections SET pending = pending + (NEW.status = 'pending') - (OLD.status = 'pending'), flagged = flagged + (NEW.status = 'flagged') - (OLD.status = 'flagged'), disputed = disputed + (NEW.status = 'disputed') - (OLD.status = 'disputed'), approved = approved + (NEW.status = 'approved') - (OLD.status = 'approved'),
		rejected = rejected + (NEW.status = 'rejected') - (OLD.status = 'rejected'), invalidated = invalidated + (NEW.status = 'invalidated') - (OLD.status = 'invalidated'), withdrawn = withdrawn + (NEW.status = 'withdrawn') - (OLD.status = 'withdrawn') WHERE nid = NEW.collection;
END;
