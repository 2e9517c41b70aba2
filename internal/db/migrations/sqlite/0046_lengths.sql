-- How many complete interviews took how long, in whole seconds: bucket n has those
-- from 1.1 to the n on. collector is '' for the sum of all; shard spreads that on
-- PostgreSQL, where rows stay locked until a transaction ends.
CREATE TABLE survey_lengths (
	survey    BIGINT NOT NULL,
	collector TEXT   NOT NULL,
	bucket    BIGINT NOT NULL,
	shard     BIGINT NOT NULL,
	n         BIGINT NOT NULL,
	PRIMARY KEY (survey, collector, bucket, shard)
) WITHOUT ROWID;

INSERT INTO survey_lengths (survey, collector, bucket, shard, n)
	WITH RECURSIVE bounds(n, at) AS (SELECT 0, 1.0 UNION ALL SELECT n + 1, at * 1.1 FROM bounds WHERE n < 199),
	taken AS (SELECT survey, collector, CAST(json_extract(body, '$.durationSec') AS INTEGER) AS seconds, count(*) AS n FROM responses
		WHERE status = 'complete' AND vstatus NOT IN ('superseded', 'invalidated', 'rejected') AND body LIKE '%"durationSec":%' AND collector <> ''
		GROUP BY 1, 2, 3),
	placed AS (SELECT survey, collector, (SELECT max(b.n) FROM bounds b WHERE b.at <= t.seconds) AS bucket, n FROM taken t WHERE seconds >= 1)
	SELECT survey, collector, bucket, 0, sum(n) FROM placed GROUP BY survey, collector, bucket
	UNION ALL
	SELECT survey, '', bucket, 0, sum(n) FROM placed GROUP BY survey, bucket;
