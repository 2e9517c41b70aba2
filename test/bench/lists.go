package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/test/server"
)

// The bars of lists: how much the p50 of a page may grow from the small store
// to the large one, and how long a page may take that no index answers.
const (
	growthBar  = 1.5
	scanBar    = 10_000 // µs
	smallStore = 10_000
	largeStore = 1_000_000
)

// listCell is a page of a list. share is how far into the list it lies; less
// than 0 is the first page.
type listCell struct {
	name, query string
	share       float64
	scan        bool // judged by its time, not by its growth
}

var listCells = []listCell{
	{"first page", "", -1, false},
	{"middle page", "", 0.5, false},
	{"last page", "", 1, false},
	{"type=Stove", "type=Stove", -1, false},
	{"indexed, 10 % match", "protocol=did:ixo:protocol/bench&filter=" + url.QueryEscape(`eq(properties.model,"M3")`), -1, false},
	{"indexed, one matches", "protocol=did:ixo:protocol/bench&filter=" + url.QueryEscape(`eq(properties.serial,"SN-00004242")`), -1, false},
	{"not indexed, 1 % match", "filter=" + url.QueryEscape(`eq(properties.bucket,7)`), -1, true},
	{"not indexed, none match", "filter=" + url.QueryEscape(`like(properties.note,"*nobody*")`), -1, true},
	{"two, never together", "filter=" + url.QueryEscape(`and(eq(properties.model,"M3"),eq(properties.power,1))`), -1, true},
}

// listing is a list that is measured in a small store and in a large one.
type listing struct {
	name  string
	path  string // of a page, to which a query is added
	cells []listCell
	seed  func(ctx context.Context, n int) (dir string, err error)
}

// lists compares pages of a large store with the same pages of a small one.
func (b *bench) lists(ctx context.Context) error {
	return b.pages(ctx, listing{"list", "/v1/entities?fields=did", listCells, b.seed})
}

// sizes are how many rows the two stores have.
func (b *bench) sizes() (small, large int) {
	if b.quick {
		return 200, 400
	}
	large = b.large
	if large == 0 {
		large = largeStore
	}
	return min(smallStore, large), large
}

// pages measures the cells of a listing.
func (b *bench) pages(ctx context.Context, l listing) error {
	small, large := b.sizes()
	few, err := l.seed(ctx, small)
	if err != nil {
		return err
	}
	many, err := l.seed(ctx, large)
	if err != nil {
		return err
	}
	fmt.Printf("%-26s %9s %9s %7s\n", "page of 50", fmt.Sprint("µs at ", large), fmt.Sprint(small), "growth")
	for _, cell := range l.cells {
		far, err := b.listPath(ctx, many, l, cell)
		if err != nil {
			return err
		}
		near, err := b.listPath(ctx, few, l, cell)
		if err != nil {
			return err
		}
		p, err := b.pair(ctx, b.listSide(many, far), b.listSide(few, near))
		if err != nil {
			return fmt.Errorf("%s: %w", cell.name, err)
		}
		took, growth := medianOf(p.ours, sample.p50), p.ratio(sample.p50)
		met, bar := growth < growthBar, fmt.Sprintf("bar %.1f", growthBar)
		if cell.scan {
			met, bar = took < scanBar, "bar 10 ms"
		}
		fmt.Printf("%-26s %9.0f %9.0f %7.2f   %s %s\n", cell.name, took, medianOf(p.bound, sample.p50), growth, bar, b.verdict(l.name+", "+cell.name, met))
	}
	return nil
}

// seed fills a folder with twins through the code that serves requests.
func (b *bench) seed(ctx context.Context, n int) (string, error) {
	s, err := b.startStoves(ctx)
	if err != nil {
		return "", err
	}
	if err := s.Stop(stopLimit); err != nil {
		return "", err
	}
	d, err := db.Open(ctx, db.Config{Path: filepath.Join(s.Dir, "hearth.db"), Sync: "normal"}) // nobody waits for these rows
	if err != nil {
		return "", err
	}
	err = seedTwins(ctx, d, n)
	size := os.WriteFile(filepath.Join(s.Dir, sizeFile), []byte(strconv.Itoa(n)), 0o600)
	return s.Dir, errors.Join(err, size, d.Close())
}

// seedChunk is how many twins are seeded in one transaction.
const seedChunk = 500

// seedTwins stores n twins. Some are prepared while others are stored.
func seedTwins(ctx context.Context, d *db.DB, n int) error {
	keys := auth.New(auth.Config{DB: d})
	ctx, err := keys.AsOwner(ctx, auth.OperatorWorkspace)
	if err != nil {
		return err
	}
	cursors := web.Cursors{Key: make([]byte, 32)}
	log := event.New(event.Config{DB: d, Cursors: cursors})
	defer log.Close()
	protocols := protocol.New(protocol.Config{DB: d, Events: log, Cursors: cursors})
	twins := entity.New(entity.Config{DB: d, Protocols: protocols, Events: log, Cursors: cursors, NewDID: did.NewEntity})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ready := make(chan []*entity.Prepared, 1)
	go func() {
		defer close(ready)
		for i := 0; i < n; i += seedChunk {
			list, err := prepareStoveTwins(ctx, twins, i, min(i+seedChunk, n))
			if err != nil {
				cancel(err)
				return
			}
			select {
			case ready <- list:
			case <-ctx.Done():
				return
			}
		}
	}()
	for list := range ready {
		err := d.InTx(ctx, func(tx *db.Tx) error {
			_, err := twins.StoreAllTx(ctx, tx, list)
			return err
		})
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// prepareStoveTwins prepares the twins from first to end.
func prepareStoveTwins(ctx context.Context, twins *entity.Service, first, end int) ([]*entity.Prepared, error) {
	list := make([]*entity.Prepared, 0, end-first)
	for i := first; i < end; i++ {
		var draft entity.Draft
		if err := json.Unmarshal([]byte(stoveDraft(i)), &draft); err != nil {
			return nil, err
		}
		p, err := twins.Prepare(ctx, draft)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// listSide is a server on a seeded folder and one page of its list.
func (b *bench) listSide(dir, path string) opener {
	return func(context.Context) (side, error) {
		s, err := server.Start(server.Options{Binary: b.binary, Dir: dir})
		if err != nil {
			return nil, err
		}
		req := request("GET", path, s.Key, "")
		return hearthLoad(s, 1, func(int) []byte { return req })
	}
}

// listPath is the address of a page.
func (b *bench) listPath(ctx context.Context, dir string, l listing, cell listCell) (string, error) {
	if cell.share < 0 {
		path, _, _ := strings.Cut(l.path, "?")
		return path + "?limit=50&" + cell.query, nil
	}
	s, err := server.Start(server.Options{Binary: b.binary, Dir: dir})
	if err != nil {
		return "", err
	}
	path, err := pageAt(ctx, s, l.path, cell.share)
	return path, errors.Join(err, s.Stop(stopLimit))
}

// stopLimit is how long a server may take to stop.
const stopLimit = 20 * time.Second

// pageAt walks through a share of the list and returns the address of the page there.
func pageAt(ctx context.Context, s *server.Server, list string, share float64) (string, error) {
	const step = 1000
	c := s.Client(1)
	defer c.Close()
	size, err := storeSize(s.Dir)
	if err != nil {
		return "", err
	}
	path := list + "&limit=" + strconv.Itoa(step)
	last := ""
	for seen := 0; seen < int(share*float64(size))-step; seen += step {
		next := path
		if last != "" {
			next += "&cursor=" + url.QueryEscape(last)
		}
		a, err := c.Do(ctx, "GET", next, nil)
		if err != nil {
			return "", err
		}
		var page struct {
			Page struct {
				NextCursor string `json:"nextCursor"`
			} `json:"page"`
		}
		if err := a.JSON(&page); err != nil {
			return "", err
		}
		if page.Page.NextCursor == "" {
			break
		}
		last = page.Page.NextCursor
	}
	// A cursor belongs to its list, so the page keeps the query of the walk.
	return list + "&limit=50&cursor=" + url.QueryEscape(last), nil
}

// storeSize reads how many twins a folder was seeded with.
func storeSize(dir string) (int, error) {
	raw, err := os.ReadFile(filepath.Join(dir, sizeFile))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(raw))
}

// sizeFile is a file in a seeded folder with the number of its twins.
const sizeFile = "bench-size"
