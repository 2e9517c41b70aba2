package survey

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Interview lengths are counted in buckets, each a tenth longer than the one
// before, so that medians are known within a few percent without reading
// interviews. A survey and each of its collectors have at most as many rows as
// buckets.
const (
	bucketStep = 1.1
	buckets    = 200 // the last begins beyond five years
)

// Least interviews that a median is made of.
const (
	LeastOfSurvey    = 20
	LeastOfCollector = 10
)

// bucketBounds are where buckets begin, in seconds. They are made by
// multiplication, as the migration has made them.
var bucketBounds = func() (out [buckets]float64) {
	at := 1.0
	for i := range out {
		out[i] = at
		at *= bucketStep
	}
	return out
}()

// bucketOf is the bucket of a length in whole seconds; -1 for less than one.
func bucketOf(seconds float64) int {
	at, found := slices.BinarySearch(bucketBounds[:], math.Floor(seconds))
	if found {
		return at
	}
	return at - 1
}

// Length is the length of an interview that starts or ceases to count.
type Length struct {
	Collector string
	Seconds   float64
	N         int // 1 or -1
}

// Pace is how long the interviews of a survey, and of one of its collectors, take.
type Pace struct {
	Median    float64 // seconds, of LeastOfSurvey interviews or more; 0 of fewer
	Collector float64 // seconds, of LeastOfCollector interviews of the collector or more; 0 of fewer
}

const (
	addLength = `INSERT INTO survey_lengths (survey, collector, bucket, shard, n) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (survey, collector, bucket, shard) DO UPDATE SET n = survey_lengths.n + excluded.n`
	addBothPostgres = `INSERT INTO survey_lengths (survey, collector, bucket, shard, n) VALUES ($1, '', $3, $4, $5), ($1, $2, $3, $4, $5)
		ON CONFLICT (survey, collector, bucket, shard) DO UPDATE SET n = survey_lengths.n + excluded.n`
	selectLengths = `SELECT collector, bucket, CAST(sum(n) AS BIGINT) FROM survey_lengths WHERE survey = $1 AND collector IN ('', $2)
		GROUP BY collector, bucket ORDER BY collector, bucket`
	removeLengths = `DELETE FROM survey_lengths WHERE survey = $1`
)

// place is a row of lengths; that of all collectors has no name.
type lengthPlace struct {
	bucket    int
	collector string
}

// measure counts lengths, each place once and in one order.
func (c *counters) measure(ctx context.Context, tx *db.Tx, survey int64, deltas []Delta) error {
	if tx.Dialect() == db.Postgres && len(deltas) == 1 && len(deltas[0].Lengths) == 1 {
		return measureOne(ctx, tx, survey, deltas[0].Lengths[0])
	}
	sums := map[lengthPlace]int{}
	for _, d := range deltas {
		for _, l := range d.Lengths {
			if b := bucketOf(l.Seconds); b >= 0 && l.Collector != "" {
				sums[lengthPlace{b, ""}] += l.N
				sums[lengthPlace{b, l.Collector}] += l.N
			}
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(sums), func(a, b lengthPlace) int {
		return cmp.Or(cmp.Compare(a.bucket, b.bucket), cmp.Compare(a.collector, b.collector))
	}) {
		n := sums[at]
		if n == 0 {
			continue
		}
		if err := tx.Send(ctx, addLength, survey, at.collector, at.bucket, tx.Shard(), n); err != nil {
			return fmt.Errorf("count length: %w", err)
		}
	}
	return nil
}

// measureOne is measure for one length on PostgreSQL, where a statement costs more
// than a row.
func measureOne(ctx context.Context, tx *db.Tx, survey int64, l Length) error {
	b := bucketOf(l.Seconds)
	if b < 0 || l.Collector == "" || l.N == 0 {
		return nil
	}
	return db.Wrap("count length", tx.Send(ctx, addBothPostgres, survey, l.Collector, b, tx.Shard(), l.N))
}

// Pace returns how long the interviews of a campaign and of one of its collectors
// take. It reads as many rows as there are buckets, however many interviews there
// are; medians of very many are cached for a moment.
func (c *counters) Pace(ctx context.Context, q db.Querier, o *Open, collector string) (Pace, error) {
	now := c.clock()
	if p, ok := c.paces.get(o.NID, collector, now); ok {
		return p, nil
	}
	var all, own histogram
	rows, err := q.Query(ctx, selectLengths, o.NID, collector)
	err = db.Each(rows, err, "read lengths", func(row db.Row) error {
		var of string
		var bucket, n int64
		if err := row.Scan(&of, &bucket, &n); err != nil {
			return err
		}
		if bucket < 0 || bucket >= buckets || n < 0 {
			return nil
		}
		if of == "" {
			all[bucket] += n
		} else {
			own[bucket] += n
		}
		return nil
	})
	if err != nil {
		return Pace{}, err
	}
	p := Pace{Median: all.median(LeastOfSurvey), Collector: own.median(LeastOfCollector)}
	if all.total() >= steady && own.total() >= steady {
		c.paces.put(o.NID, collector, p, now.Add(paceKept))
	}
	return p, nil
}

// A median of so many interviews hardly moves, so it is cached for a while:
// reading it was a twelfth of the cost of a response.
const (
	steady    = 200
	paceKept  = 10 * time.Second
	mostPaces = 4096 // that are kept
)

// paces keeps the paces of busy collectors. Being a little old is all that can be
// wrong with them.
type paces struct {
	mu   sync.Mutex
	kept map[paceOf]keptPace
}

type paceOf struct {
	survey    int64
	collector string
}

type keptPace struct {
	Pace
	until time.Time
}

func (p *paces) get(survey int64, collector string, now time.Time) (Pace, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k, ok := p.kept[paceOf{survey, collector}]
	return k.Pace, ok && now.Before(k.until)
}

func (p *paces) put(survey int64, collector string, pace Pace, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil || len(p.kept) >= mostPaces {
		p.kept = map[paceOf]keptPace{}
	}
	p.kept[paceOf{survey, collector}] = keptPace{pace, until}
}

// histogram is how many interviews are in each bucket.
type histogram [buckets]int64

// median is the middle of at least so many; 0 of fewer. Inside a bucket it goes by
// how many are below.
func (h *histogram) median(least int64) float64 {
	total := h.total()
	if total < least {
		return 0
	}
	half, below := float64(total)/2, 0.0
	for i, n := range h {
		if below+float64(n) >= half && n > 0 {
			return bucketBounds[i] * math.Pow(bucketStep, (half-below)/float64(n))
		}
		below += float64(n)
	}
	return 0
}

// total is how many interviews there are.
func (h *histogram) total() (sum int64) {
	for _, n := range h {
		sum += n
	}
	return sum
}
