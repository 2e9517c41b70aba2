package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/survey"
	typed "github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/sampling"
	"github.com/hearth-dmrv/hearth/internal/survey/statistics"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The bars of figures and draws: how many times the CPU of the bound they may
// take.
const (
	figuresBar = 3.0
	drawBar    = 2.0
)

// benchStrata are the strata of the sample; each cluster is in one of them.
const benchStrata = 10

// benchClusters is how many clusters a sample of n has.
func benchClusters(n int) int { return min(1000, n/20) }

// clusteredSurvey has a sample of clusters that was drawn elsewhere.
func clusteredSurvey(n int) string {
	drawn := benchClusters(n)
	strata, units, clusters := make([]string, benchStrata), make([]string, benchStrata), make([]string, drawn)
	for i := range strata {
		strata[i] = fmt.Sprintf(`{"name":"s%d","population":%d}`, i, 10*n)
		units[i] = fmt.Sprintf(`{"name":"s%d","units":%d,"drawn":%d}`, i, drawn, drawn/benchStrata)
	}
	for i := range clusters {
		clusters[i] = fmt.Sprintf(`{"name":"c%d","size":%d}`, i, 10*n/drawn)
	}
	return fmt.Sprintf(`{"surveyId":"bench","type":"BaselineSurvey","projectId":"did:ixo:entity:123","template":{"eligibilityCriteria":true,"socioEconomicData":true},`+
		`"sampling":{"method":"multistage","size":%d,"confidence":0.95,"strata":[%s],"stages":[{"unit":"village","units":%d,"drawn":%d,"strata":[%s]},{"unit":"household"}],"clusters":[%s],`+
		`"drawnElsewhere":{"method":"R","by":"did:ixo:agent/123","at":"2026-01-02T00:00:00Z","documentHash":"%s"}},"collectors":["did:ixo:agent/123"]}`,
		n, strings.Join(strata, ","), benchStrata*drawn, drawn, strings.Join(units, ","), strings.Join(clusters, ","), strings.Repeat("ab", 32))
}

// copyHomes multiplies the one household there is on the list.
const copyHomes = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
	INSERT INTO survey_households (survey, household, stratum, grp, area, collector, outcome, outcome_round, outcome_at, lat, lon, attributes, rev, updated_at, cluster, source, replaces)
	SELECT survey, household || n.i, 's' || (n.i % 10), grp, area, collector, outcome, outcome_round, outcome_at, lat, lon, attributes, rev, updated_at, 'c' || (n.i % $2), source, replaces
	FROM survey_households, n WHERE household = 'did:ixo:household/0'`

// seedSample fills a folder with a survey whose whole sample has answered.
func (b *bench) seedSample(ctx context.Context, n int) (string, error) {
	s, err := b.start()
	if err != nil {
		return "", err
	}
	c := s.Client(1)
	for _, step := range [][2]string{
		{"/v1/surveys", clusteredSurvey(n)},
		{"/v1/surveys/bench/households", `{"items":[{"householdId":"did:ixo:household/0","stratum":"s0","cluster":"c0"}]}`},
		{"/v1/surveys/bench/activate", `{}`},
		{"/v1/surveys/bench/responses", answer(0, time.Now())},
	} {
		if _, err = post(ctx, c, step[0], step[1]); err != nil {
			break
		}
	}
	c.Close()
	if err := errors.Join(err, s.Stop(stopLimit)); err != nil {
		return "", err
	}
	d, err := db.Open(ctx, db.Config{Path: filepath.Join(s.Dir, "hearth.db"), Sync: "normal", TxLimit: time.Hour}) // nobody waits for these rows
	if err != nil {
		return "", err
	}
	return s.Dir, errors.Join(multiply(ctx, d, n), os.WriteFile(filepath.Join(s.Dir, sizeFile), []byte(strconv.Itoa(n)), 0o600), d.Close())
}

func multiply(ctx context.Context, d *db.DB, n int) error {
	qid, err := sizeQuestion(ctx, d)
	if err != nil {
		return err
	}
	if _, err := d.Exec(ctx, copyHomes, n-1, benchClusters(n)); err != nil {
		return err
	}
	if _, err := d.Exec(ctx, copySizes, n-1, qid); err != nil {
		return err
	}
	_, err = d.Exec(ctx, copyResponses, n-1)
	return err
}

// sizeQuestion is the question whose answers are read.
func sizeQuestion(ctx context.Context, d *db.DB) (int64, error) {
	var nid int64
	err := d.QueryRow(ctx, `SELECT survey FROM responses WHERE response_id = 'resp_000000000'`).Scan(&nid)
	return typed.Question(nid, "socio_economic", "household_size"), err
}

// grouped is the least work with the same result: the sums of each cluster.
const grouped = `SELECT h.stratum, h.cluster, count(*), sum(a.num), sum(a.num * a.num) FROM answers a JOIN responses r ON r.nid = a.nid
	JOIN survey_households h ON h.survey = r.survey AND h.household = r.household WHERE a.qid = $1 GROUP BY h.stratum, h.cluster`

// figures compares the mean of a question with its interval, made by a job, with
// the sums of the same rows in SQL.
func (b *bench) figures(ctx context.Context) error {
	_, n := b.sizes()
	dir, err := b.seedSample(ctx, n)
	if err != nil {
		return err
	}
	x, err := openFigures(ctx, dir)
	if err != nil {
		return err
	}
	defer x.close()
	if ctx, err = auth.New(auth.Config{DB: x.db}).AsOwner(ctx, auth.OperatorWorkspace); err != nil {
		return err
	}
	qid, err := sizeQuestion(ctx, x.db)
	if err != nil {
		return err
	}
	var p pairs
	for round := range min(b.rounds, 3) {
		bound, err := measure(n, func() error {
			rows, err := x.db.Query(ctx, grouped, qid)
			return db.Each(rows, err, "sums", func(row db.Row) error {
				var stratum, cluster string
				var count, sum, squares float64
				return row.Scan(&stratum, &cluster, &count, &sum, &squares)
			})
		})
		if err != nil {
			return err
		}
		// A different confidence each time, so that no result is cached.
		q := statistics.Query{Question: "socio_economic/household_size", Confidence: 0.9 + float64(round)/100}
		ours, err := measure(n, func() error { return x.figures(ctx, q, n) })
		if err != nil {
			return err
		}
		p.ours, p.bound = append(p.ours, ours), append(p.bound, bound)
	}
	b.times("figures", fmt.Sprintf("a mean of %d responses", n), p, figuresBar)
	return nil
}

// times prints how many times the CPU of its bound something takes.
func (b *bench) times(name, what string, p pairs, bar float64) {
	ratio := p.ratio(sample.cost)
	fmt.Printf("%s: %.2f s of CPU, bound %.2f s, ratio %.2f   bar %.1f %s\n", what, medianOf(p.ours, sample.cpuSeconds), medianOf(p.bound, sample.cpuSeconds), ratio, bar, b.verdict(name, ratio <= bar))
}

func (s sample) cpuSeconds() float64 { return s.cpu.Seconds() }

// measure returns the time and the CPU of this process that do takes.
func measure(ops int, do func() error) (sample, error) {
	cpu, start := cpuTime(), time.Now()
	err := do()
	return sample{ops: ops, took: time.Since(start), cpu: cpuTime() - cpu}, err
}

// figurer is all that figures and draws need, on a folder.
type figurer struct {
	db      *db.DB
	api     *statistics.Service
	samples *sampling.Service
	jobs    *job.Service
	homes   int // of the registry
	close   func()
}

func openFigures(ctx context.Context, dir string) (*figurer, error) {
	key, err := secret.Parse(strings.Repeat("0123456789abcdef", 2))
	if err != nil {
		return nil, err
	}
	d, err := db.Open(ctx, db.Config{Path: filepath.Join(dir, "hearth.db")})
	if err != nil {
		return nil, err
	}
	x := &figurer{db: d}
	cursors := web.Cursors{Key: make([]byte, 32)}
	log := event.New(event.Config{DB: d, Cursors: cursors})
	v := vault.New(vault.Config{Key: key})
	templates := template.New(template.Config{DB: d, Events: log, Cursors: cursors})
	surveys := survey.New(survey.Config{DB: d, Templates: templates, Events: log, Cursors: cursors, Vault: v})
	responses := response.New(response.Config{DB: d, Surveys: surveys, Vault: v, Events: log, Cursors: cursors, Key: key})
	x.jobs = job.New(job.Config{DB: d, Cursors: cursors})
	x.api = statistics.New(statistics.Config{DB: d, Surveys: surveys, Responses: responses, Jobs: x.jobs})
	x.samples = sampling.New(sampling.Config{DB: d, Surveys: surveys, Vault: v, Key: key, Jobs: x.jobs, Events: log, Cursors: cursors, Registry: x.registry})
	handlers := x.api.Handlers()
	for kind, h := range x.samples.Handlers() {
		handlers[kind] = h
	}
	runner, err := x.jobs.NewRunner(job.RunnerConfig{Handlers: handlers, Alone: true})
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runner.Run(running)
	}()
	x.close = func() {
		stop()
		<-ended
		log.Close()
		_ = d.Close() // the folder goes with the run
	}
	return x, nil
}

// registry visits as many households as configured, in ten strata.
func (x *figurer) registry(_ context.Context, _ string, _ api.SampleQuery, visit func(sampling.Row) error) (int64, error) {
	for i := range x.homes {
		if err := visit(sampling.Row{Household: fmt.Sprintf("did:ixo:household/%d", i), Stratum: fmt.Sprintf("s%d", i%benchStrata)}); err != nil {
			return 0, err
		}
	}
	return 1, nil
}

// figures makes figures with a job, and checks that all responses counted.
func (x *figurer) figures(ctx context.Context, q statistics.Query, n int) error {
	id, err := x.api.Later(ctx, "bench", q)
	if err == nil {
		err = x.wait(ctx, id)
	}
	if err != nil {
		return err
	}
	out, err := x.api.Made(ctx, "bench", id)
	if err == nil && (out.Counted.Answered != n || out.Estimates[0].Low == nil) {
		err = fmt.Errorf("%+v of %d responses", out, n)
	}
	return err
}

// wait waits until a job has succeeded.
func (x *figurer) wait(ctx context.Context, id string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		j, err := x.jobs.Get(ctx, id)
		if err != nil || j.Status == job.Succeeded {
			return err
		}
		if j.Status.Final() {
			return fmt.Errorf("job is %s: %+v", j.Status, j.Errors)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// drawing compares a draw from a frame with reading the frame, hashing every
// unit and sorting.
func (b *bench) drawing(ctx context.Context) error {
	_, n := b.sizes()
	s, err := b.start()
	if err != nil {
		return err
	}
	if err := s.Stop(stopLimit); err != nil {
		return err
	}
	x, err := openFigures(ctx, s.Dir)
	if err != nil {
		return err
	}
	defer x.close()
	x.homes = n
	if ctx, err = auth.New(auth.Config{DB: x.db}).AsOwner(ctx, auth.OperatorWorkspace); err != nil {
		return err
	}
	if err := x.frame(ctx); err != nil {
		return err
	}
	var p pairs
	for round := range min(b.rounds, 3) {
		seed := fmt.Sprintf("seed %d", round)
		bound, err := measure(n, func() error { return x.bareDraw(ctx, seed, n) })
		if err != nil {
			return err
		}
		ours, err := measure(n, func() error { return x.draw(ctx, seed) })
		if err != nil {
			return err
		}
		p.ours, p.bound = append(p.ours, ours), append(p.bound, bound)
	}
	b.times("draw", fmt.Sprintf("a draw from %d households", n), p, drawBar)
	return nil
}

// frame makes a design, and freezes all households in a frame.
func (x *figurer) frame(ctx context.Context) error {
	confidence, precision, population, share := 0.95, 0.05, float64(x.homes), 1.0/benchStrata
	strata := make([]api.SampleStratum, benchStrata)
	for i := range strata {
		strata[i] = api.SampleStratum{Name: fmt.Sprintf("s%d", i), Weight: &share}
	}
	_, err := x.samples.Create(ctx, sampling.Draft{
		DesignID: "bench", ProjectID: "did:ixo:entity:123", Confidence: &confidence, Precision: &precision, Population: &population, Stratification: &api.SampleStratification{Strata: strata},
	})
	if err != nil {
		return err
	}
	r, err := x.samples.PutFrame(ctx, "bench", api.SampleFrameDraft{Registry: &api.SampleQuery{Type: "Household"}})
	if err != nil {
		return err
	}
	return x.wait(ctx, strings.TrimPrefix(r.Location, job.Path("")))
}

func (x *figurer) draw(ctx context.Context, seed string) error {
	r, err := x.samples.Draw(ctx, "bench", api.SampleDrawDraft{Seed: seed, Reason: "bench"})
	if err != nil || r.Location == "" {
		return err
	}
	return x.wait(ctx, strings.TrimPrefix(r.Location, job.Path("")))
}

// bareDraw is the least that ranks a frame: it reads it, hashes each unit, and sorts
// the first eight bytes of the hashes in each stratum, with the lines they stand on.
func (x *figurer) bareDraw(ctx context.Context, seed string, n int) error {
	type ranked struct {
		rank uint64
		line int
	}
	line, strata := 0, map[string][]ranked{}
	text := append([]byte(seed), 0x1f)
	at := len(text)
	rows, err := x.db.Query(ctx, `SELECT units FROM sampling_pieces ORDER BY frame, piece`)
	err = db.Each(rows, err, "read frame", func(row db.Row) error {
		var piece string
		if err := row.Scan(&piece); err != nil {
			return err
		}
		for one := range strings.Lines(piece) {
			unit, rest, _ := strings.Cut(one, ",")
			stratum, _, _ := strings.Cut(rest, ",")
			text = append(text[:at], unit...)
			sum := sha256.Sum256(text)
			strata[stratum] = append(strata[stratum], ranked{binary.BigEndian.Uint64(sum[:]), line})
			line++
		}
		return nil
	})
	for _, all := range strata {
		slices.SortFunc(all, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	}
	if err == nil && (line != n || len(strata) != benchStrata) {
		err = fmt.Errorf("the frame has %d units in %d strata, want %d in %d", line, len(strata), n, benchStrata)
	}
	return err
}
