package verify

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// Limits of what is shown of a response.
const (
	maxFiles  = 100
	maxPlaces = 10
)

func evidencePath(r *response.Row) string { return response.Path(r.ResponseID) + "/evidence" }

// Evidence returns what a verifier sees of a response. The fault is
// RESPONSE_NOT_FOUND.
func (s *Service) Evidence(ctx context.Context, id string) (*Evidence, error) {
	r, o, err := s.cfg.Responses.Find(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	e, spots, err := s.gather(ctx, o, r)
	if err != nil {
		return nil, err
	}
	e.SurveyID, e.Flags = o.SurveyID, []flag.Flag{}
	if r.Flags > 0 {
		if e.Flags, err = flag.List(ctx, s.db, r.NID); err != nil {
			return nil, err
		}
	}
	if spots, err = s.withHome(ctx, o, r, spots); err != nil {
		return nil, err
	}
	e.Distances = []api.EvidenceDistance{}
	if flag.Exact(ctx) {
		e.Distances = distances(spots)
	}
	return e, s.receive(ctx, r.Workspace, e.Files)
}

// receive adds data about the files that have arrived.
func (s *Service) receive(ctx context.Context, ws string, files []EvidenceFile) error {
	hashes := make([]string, len(files))
	for i, one := range files {
		hashes[i] = one.SHA256
	}
	known, err := media.FindAll(ctx, s.db, ws, hashes)
	if err != nil {
		return err
	}
	for i := range files {
		if f := known[files[i].SHA256]; f != nil {
			files[i].Received, files[i].MediaType, files[i].Bytes = true, f.MediaType, f.Bytes
		}
	}
	return nil
}

// File finds a file of the evidence of a response. Faults: RESPONSE_NOT_FOUND,
// ATTACHMENT_NOT_FOUND.
func (s *Service) File(ctx context.Context, id, hash string) (*media.File, error) {
	r, o, err := s.cfg.Responses.Find(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	e, _, err := s.gather(ctx, o, r)
	if err != nil {
		return nil, err
	}
	for _, one := range e.Files {
		if one.SHA256 != hash {
			continue
		}
		if f, err := media.Find(ctx, s.db, r.Workspace, hash); f != nil || err != nil {
			return f, err
		}
	}
	return nil, media.NotFound()
}

// withHome adds the place of the household, where the survey lists one.
func (s *Service) withHome(ctx context.Context, o *survey.Open, r *response.Row, spots []spot) ([]spot, error) {
	h, err := s.cfg.Surveys.Household(ctx, s.db, o, r.Household)
	if err != nil || h == nil || h.Location == nil {
		return spots, err
	}
	return append(spots, spot{"household", flag.Point{Lat: h.Location.Lat, Lon: h.Location.Lon}}), nil
}

// spot is an exact place.
type spot struct {
	at string
	flag.Point
}

// gather finds files and places in a response.
func (s *Service) gather(ctx context.Context, o *survey.Open, r *response.Row) (*Evidence, []spot, error) {
	whole, err := s.cfg.Responses.Read(ctx, s.db, o.Project, r)
	if err != nil {
		return nil, nil, err
	}
	path := response.Path(r.ResponseID)
	e := &Evidence{
		ResponseID: r.ResponseID, RecordID: privacy.RecordName(r.NID), Revision: r.Revision, Files: []EvidenceFile{}, Places: []Place{}, Erased: whole.Erased,
		Links: api.EvidenceLinks{Self: evidencePath(r), Response: path, Verification: path + "/verification"},
	}
	var answers map[string]any
	if err := json.Unmarshal(whole.Answers, &answers); err != nil {
		return nil, nil, fmt.Errorf("read answers: %w", err)
	}
	var spots []spot
	if p := whole.Location; p != nil {
		spots = append(spots, spot{"/location", flag.Point{Lat: p.Lat, Lon: p.Lon}})
		e.Places = append(e.Places, rounded(spots[0]))
	}
	for _, c := range o.Form.Columns() {
		switch {
		case c.Kind.Media:
			walk(answers, c.Path, "/responses", func(at string, v any) { addFile(e, c, at, v) })
		case c.Kind.Place:
			walk(answers, c.Path, "/responses", func(at string, v any) {
				p, ok := pointOf(v)
				if !ok || len(spots) == maxPlaces || len(e.Places) == maxPlaces {
					return
				}
				addPlace(e, c, spot{at, p})
				// Exact distances from public places would reveal where the
				// others are, and nobody may know direct ones.
				if c.PII == form.PIIIndirect {
					spots = append(spots, spot{at, p})
				}
			})
		}
	}
	return e, spots, addAttachments(e, r)
}

// addAttachments adds files that are no answer. Those of closed answers are not
// among them.
func addAttachments(e *Evidence, r *response.Row) error {
	head, err := r.Head()
	if err != nil {
		return err
	}
	for _, a := range head.Attachments {
		known := slices.ContainsFunc(e.Files, func(f EvidenceFile) bool { return f.SHA256 == a.SHA256 })
		if !known && len(e.Files) < maxFiles {
			e.Files = append(e.Files, EvidenceFile{Type: string(form.File), SHA256: a.SHA256, Link: e.Links.Self + "/" + a.SHA256})
		}
	}
	return nil
}

func addFile(e *Evidence, c form.Column, at string, v any) {
	name, _ := v.(string)
	hash, ok := strings.CutPrefix(name, "sha256:")
	switch {
	case !ok:
	case c.PII == form.PIIDirect, c.Kind.Personal && c.PII.Private():
		e.Closed = append(e.Closed, at)
	case len(e.Files) < maxFiles:
		e.Files = append(e.Files, EvidenceFile{Question: at, Type: string(c.Type), SHA256: hash, Link: e.Links.Self + "/" + hash})
	}
}

func addPlace(e *Evidence, c form.Column, s spot) {
	if c.PII == form.PIIDirect {
		e.Closed = append(e.Closed, s.at)
		return
	}
	e.Places = append(e.Places, rounded(s))
}

// walk calls f for every answer at a path, those in repeats one by one.
func walk(v any, path []string, at string, f func(at string, v any)) {
	if list, ok := v.([]any); ok && len(path) > 0 {
		for i, one := range list {
			walk(one, path, at+"/"+strconv.Itoa(i), f)
		}
		return
	}
	if len(path) == 0 {
		if v != nil {
			f(at, v)
		}
		return
	}
	if m, ok := v.(map[string]any); ok {
		walk(m[path[0]], path[1:], at+"/"+path[0], f)
	}
}

func pointOf(v any) (flag.Point, bool) {
	m, _ := v.(map[string]any)
	lat, ok := m["lat"].(float64)
	lon, also := m["lon"].(float64)
	return flag.Point{Lat: lat, Lon: lon}, ok && also
}

// rounded is a place to a hundredth of a degree.
func rounded(s spot) Place {
	to := func(v float64) float64 { return math.Round(v*100)/100 + 0 } // -0 is 0
	return Place{At: s.at, Lat: to(s.Lat), Lon: to(s.Lon)}
}

// distances are those of all pairs of places.
func distances(spots []spot) []api.EvidenceDistance {
	out := []api.EvidenceDistance{}
	for i, a := range spots {
		for _, b := range spots[i+1:] {
			out = append(out, api.EvidenceDistance{From: a.at, To: b.at, Metres: math.Round(flag.Metres(a.Point, b.Point))})
		}
	}
	return out
}
