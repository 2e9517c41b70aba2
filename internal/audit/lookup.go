package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// lookup finds out the present state of one claim's evidence. It always reads as the same
// reader, without personal data, so that hashes do not depend on who asks. Evidence that
// several pieces name is looked up once.
type lookup struct {
	*Service
	readingsLeft, correctionsLeft int // that may still be looked at

	may       map[string]error // by path: what keeps the caller from reading it
	known     map[api.ClaimEvidence]state
	corrected map[string][]string // by device: the times of readings that were corrected since
}

// state is what a piece names, with its hash or why it has none.
type state struct {
	piece api.ClaimEvidence
	hash  string
	err   error
}

func (s *Service) lookup() *lookup {
	return &lookup{
		Service: s, readingsLeft: maxReadings, correctionsLeft: maxCorrections,
		may: map[string]error{}, known: map[api.ClaimEvidence]state{}, corrected: map[string][]string{},
	}
}

// allowed is finds for the caller of ctx, once a path.
func (l *lookup) allowed(ctx context.Context, path string) error {
	err, asked := l.may[path]
	if !asked {
		err = l.finds(ctx, path)
		l.may[path] = err
	}
	return err
}

// now completes what p names, and gives its hash.
func (l *lookup) now(ctx context.Context, about thing, p *api.ClaimEvidence) (string, error) {
	named := api.ClaimEvidence{Type: p.Type, ID: p.ID, Revision: p.Revision, From: p.From, To: p.To}
	got, asked := l.known[named]
	if !asked {
		got.piece = named
		got.hash, got.err = about.now(l, outside(ctx), &got.piece)
		l.known[named] = got
	}
	p.Revision, p.From, p.To = got.piece.Revision, got.piece.From, got.piece.To
	if got.err == nil {
		p.Count = got.piece.Count
	}
	return got.hash, got.err
}

// lack is why something has no hash, and the state that it is in.
type lack struct{ state, why string }

func (l lack) Error() string { return l.why }

var (
	errGone     = lack{erased, "Its content was erased to protect a person; only the fact that it existed is kept."}
	errNotThere = lack{missing, "No state of it has this number."}
)

// lacking reads why a lookup came to nothing; false for a failure of the server.
func lacking(err error) (lack, bool) {
	if l, ok := errors.AsType[lack](err); ok {
		return l, true
	}
	if f := fault.As(err); f != nil {
		return lack{missing, "It no longer exists: " + f.Message}, true
	}
	return lack{}, false
}

// response is the content id of a response in one of its states; the newest, where p
// names none.
func (l *lookup) response(ctx context.Context, p *api.ClaimEvidence) (string, error) {
	path := "/v1/responses/" + url.PathEscape(p.ID)
	if p.Revision == 0 {
		var h struct {
			Items []struct {
				Revision int64 `json:"revision"`
			} `json:"items"`
		}
		if err := l.read(ctx, path+"/history?limit=1", &h); err != nil {
			return "", err
		}
		if len(h.Items) == 0 {
			return "", errNotThere
		}
		p.Revision = h.Items[0].Revision
	}
	var now, then struct {
		ContentID string `json:"contentId"`
		Status    string `json:"status"`
	}
	if err := l.read(ctx, path, &now); err != nil {
		return "", err
	}
	if err := l.read(ctx, fmt.Sprintf("%s?at=%d", path, p.Revision), &then); err != nil {
		return "", err
	}
	if then.ContentID == "" || now.Status == "redacted" {
		return "", errGone
	}
	return then.ContentID, nil
}

// below is where a list of revisions, newest first, begins with the one that p names; 0 is
// its beginning.
func below(p *api.ClaimEvidence) int64 {
	if p.Revision == 0 {
		return 0
	}
	return p.Revision + 1
}

// twin is the hash of a revision of a twin.
func (l *lookup) twin(ctx context.Context, p *api.ClaimEvidence) (string, error) {
	all, _, err := l.cfg.Revisions(ctx, p.ID, below(p), 1)
	switch {
	case err != nil:
		return "", err
	case len(all) == 0 || p.Revision != 0 && all[0].Revision != p.Revision:
		return "", errNotThere
	case all[0].Erased:
		return "", errGone
	}
	p.Revision = all[0].Revision
	return all[0].Hash, nil
}

// kitchenTest is the hash of a test's measurements, without its household.
func (l *lookup) kitchenTest(ctx context.Context, p *api.ClaimEvidence) (string, error) {
	all, _, err := l.cfg.KitchenTests(ctx, p.ID, below(p), 1)
	switch {
	case err != nil:
		return "", err
	case len(all) == 0 || p.Revision != 0 && all[0].Revision != p.Revision:
		return "", errNotThere
	case all[0].Test == nil:
		return "", errGone
	}
	p.Revision = all[0].Revision
	t := all[0].Test
	return check.Hash(map[string]any{
		"id": t.ID, "revision": p.Revision, "testGroup": t.TestGroup, "testPeriod": t.TestPeriod, "fuelMeasurements": t.FuelMeasurements, "people": t.People, "status": t.Status,
	})
}

// readings is the hash of the readings of a device in a time: SHA-256 over each in
// canonical JSON and a line feed, in the order of time.
func (l *lookup) readings(ctx context.Context, p *api.ClaimEvidence) (string, error) {
	for _, text := range []*string{&p.From, &p.To} {
		at, err := time.Parse(time.RFC3339, *text)
		if err != nil {
			return "", lack{unchecked, "Readings have from and to, such as 2026-03-01T00:00:00Z."}
		}
		*text = at.UTC().Format(web.TimeFormat)
	}
	h, n := sha256.New(), 0
	err := pages(l.as(ctx), "/v1/devices/"+url.PathEscape(p.ID)+"/readings?from="+url.QueryEscape(p.From)+"&to="+url.QueryEscape(p.To), func(v *jsontext.Value) error {
		_ = v.Canonicalize() // it was just read as JSON
		h.Write(append(*v, '\n'))
		n++
		l.readingsLeft--
		return until(l.readingsLeft < 0)
	})
	if err != nil {
		return "", err
	}
	if n == 0 || l.readingsLeft < 0 {
		return "", lack{missing, fmt.Sprintf("A piece of evidence has one reading at least, and those of a claim have %d at most. Choose another time.", maxReadings)}
	}
	p.Count = n
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// corrections counts the corrections of readings since a claim was submitted.
func (l *lookup) corrections(ctx context.Context, c *api.Claim, p *api.ClaimEvidence) error {
	times, asked := l.corrected[p.ID]
	if !asked && l.correctionsLeft > 0 {
		err := pages(l.as(ctx), "/v1/devices/"+url.PathEscape(p.ID)+"/corrections", func(v *api.ReadingCorrection) error {
			if v.Time.After(c.Submitted) {
				times = append(times, v.Timestamp.UTC().Format(web.TimeFormat))
			}
			l.correctionsLeft--
			return until(l.correctionsLeft == 0)
		})
		if err != nil && fault.As(err) == nil { // otherwise the device is gone, which was reported already
			return err
		}
		l.corrected[p.ID] = times
	}
	for _, at := range times {
		if at >= p.From && at < p.To {
			p.Corrections++
		}
	}
	if p.State == changed && p.Corrections > 0 {
		p.Detail = fmt.Sprintf("%d readings of this time were corrected or withdrawn since; the corrections of the device say why.", p.Corrections)
	}
	return nil
}

// attachment is the hash of a file, which is its name. The file is looked up with the
// right to all files, and not read.
func (l *lookup) attachment(ctx context.Context, p *api.ClaimEvidence) (string, error) {
	all := web.WithCaller(ctx, web.Caller{Workspace: web.CallerFrom(ctx).Workspace, DID: readerDID, Scopes: []string{"*"}})
	return "sha256:" + p.ID, l.finds(all, "/v1/attachments/"+url.PathEscape(p.ID))
}
