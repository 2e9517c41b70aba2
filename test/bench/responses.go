package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	typed "github.com/hearth-dmrv/hearth/internal/survey/answer"
)

// responseCells are pages of the responses of a survey. A filter on an answer
// looks it up.
var responseCells = []listCell{
	{"first page", "", -1, false},
	{"middle page", "", 0.5, false},
	{"last page", "", 1, false},
	{"verification=verified, 10 %", "verification=verified", -1, false},
	{"an answer, 10 % match", "filter=" + url.QueryEscape(`eq(responses.socio_economic.household_size,3)`), -1, false},
	{"an answer, none match", "filter=" + url.QueryEscape(`eq(responses.socio_economic.household_size,40)`), -1, false},
}

// responsePages compares pages of many responses with the same pages of few.
func (b *bench) responsePages(ctx context.Context) error {
	return b.pages(ctx, listing{"responses", "/v1/surveys/bench/responses?verification=", responseCells, b.seedResponses})
}

// copyResponses multiplies the one response there is. Every tenth is verified,
// and households have 1 to 10 people.
const copyResponses = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
	INSERT INTO responses (nid, ws, response_id, survey, round, household, slot, stratum, grp, status, vstatus, verifier, verified_at, reviews, flags, files,
		collector, sender, submitted_at, received_at, updated_at, revision, rev_action, rev_actor, rev_request, rev_reason, first_hash, hash, body, answers, masked, sealed, typed)
	SELECT nid + n.i, ws, response_id || n.i, survey, round, household || n.i, slot, stratum, grp, status, CASE n.i % 10 WHEN 0 THEN 'verified' ELSE vstatus END,
		verifier, verified_at, reviews, flags, files, collector, sender, submitted_at, received_at, updated_at, revision, rev_action, rev_actor, rev_request,
		rev_reason, first_hash, hash, replace(replace(body, household, household || n.i), response_id, response_id || n.i),
		replace(answers, '"household_size":1', '"household_size":' || (n.i % 10 + 1)), masked, NULL, typed
	FROM responses, n WHERE response_id = 'resp_000000000'`

// copySizes adds to the copies the rows of the one answer that cells filter by.
const copySizes = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
	INSERT INTO answers (qid, code, num, nid, item) SELECT $2, '', n.i % 10 + 1, nid + n.i, 0 FROM responses, n WHERE response_id = 'resp_000000000'`

// seedResponses fills a folder with responses of one survey.
func (b *bench) seedResponses(ctx context.Context, n int) (string, error) {
	s, err := b.start()
	if err != nil {
		return "", err
	}
	if err := openSurvey(ctx, s); err != nil {
		return "", errors.Join(err, s.Kill())
	}
	c := s.Client(1)
	_, err = post(ctx, c, "/v1/surveys/bench/responses", answer(0, time.Now()))
	c.Close()
	if err := errors.Join(err, s.Stop(stopLimit)); err != nil {
		return "", err
	}
	d, err := db.Open(ctx, db.Config{Path: filepath.Join(s.Dir, "hearth.db"), Sync: "normal", TxLimit: time.Hour}) // nobody waits for these rows
	if err != nil {
		return "", err
	}
	var survey int64
	err = d.QueryRow(ctx, `SELECT survey FROM responses WHERE response_id = 'resp_000000000'`).Scan(&survey)
	if err == nil {
		_, err = d.Exec(ctx, copySizes, n-1, typed.Question(survey, "socio_economic", "household_size"))
	}
	if err == nil {
		_, err = d.Exec(ctx, copyResponses, n-1)
	}
	size := os.WriteFile(filepath.Join(s.Dir, sizeFile), []byte(strconv.Itoa(n)), 0o600)
	return s.Dir, errors.Join(err, size, d.Close())
}
