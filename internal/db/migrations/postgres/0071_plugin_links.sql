-- Names at other services that users have tied to themselves: as whom a plugin acts
-- for somebody who speaks there. caller is what they came with.
CREATE TABLE plugin_links (
  plugin TEXT NOT NULL,
  name TEXT NOT NULL,
  user_did TEXT NOT NULL,
  workspace TEXT NOT NULL,
  did TEXT NOT NULL,
  caller TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (plugin, name)
);
CREATE INDEX plugin_links_user ON plugin_links (plugin, user_did, name);
CREATE INDEX plugin_links_person ON plugin_links (workspace, did);
