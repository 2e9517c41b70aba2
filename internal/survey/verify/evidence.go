package verify

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/alias"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/response/mark"
	"github.com/hearth-dmrv/hearth/internal/survey/rule"
)

// Evidence is what a verifier looks at in a response beside its answers:
// pictures, sounds, places and what checks have found, without names and
// telephone numbers.
//
// What is marked as direct stays closed. Photos, sounds and files marked as
// indirect are open. Places are rounded, however they are marked as long as that
// is not direct, and distances between places are exact: a verifier can tell
// that an interview was far from the household and not where that is.
type Evidence struct {
	ResponseID string         `json:"responseId" example:"resp_789"`
	RecordID   string         `json:"recordId" example:"rec~7310428377145344"`
	SurveyID   string         `json:"surveyId"`
	Revision   int64          `json:"revision" doc:"Of the response."`
	Files      []EvidenceFile `json:"files" doc:"Photos, sounds and files of questions that are not marked as direct, in the order of the template, then those that came with the response and are no answer; the first 100."`
	Places     []Place        `json:"places" doc:"Where the interview was (/location) and the answers that are places and not marked as direct, rounded to 0.01 degrees (about 1 km)."`
	Distances  []Distance     `json:"distances" doc:"Between the place of the interview, the household as the survey lists it, and answers that are places and marked as indirect; exact. Of a place without a mark there is none: everybody can read it, and several distances from it would tell where the others are. For the same reason a key that may change lists or responses gets none, nor metres in flags, unless it has responses:pii."`
	Flags      []rule.Flag    `json:"flags" doc:"What checks have found in the response; for people to look at."`
	Closed     []string       `json:"closed,omitzero" doc:"Pointers of files and places that are there and marked as direct, and of signatures that are marked at all: they need the scope responses:pii."`
	Erased     bool           `json:"erased,omitzero" doc:"The household was erased: files, places and everything that was marked are gone."`
	Links      EvidenceLinks  `json:"links"`
}

// EvidenceFile is an answer that is a file.
type EvidenceFile struct {
	Question  string    `json:"question,omitzero" doc:"Pointer of the answer; absent when it is none." example:"/responses/installation/photo"`
	Type      form.Type `json:"type" enum:"photo,audio,file,signature"`
	SHA256    string    `json:"sha256"`
	Received  bool      `json:"received" doc:"The file has arrived."`
	MediaType string    `json:"mediaType,omitzero" example:"image/jpeg"`
	Bytes     int64     `json:"bytes,omitzero"`
	Link      string    `json:"link"`
}

// Place is a position, rounded.
type Place struct {
	At  string  `json:"at" doc:"Pointer." example:"/location"`
	Lat float64 `json:"lat" example:"-1.29"`
	Lon float64 `json:"lon" example:"36.82"`
}

// Distance is how far two places are apart.
type Distance struct {
	From   string  `json:"from" example:"/location"`
	To     string  `json:"to" doc:"A pointer, or household for the place the survey lists." example:"household"`
	Metres float64 `json:"metres" example:"12"`
}

// EvidenceLinks are the addresses around the evidence of a response.
type EvidenceLinks struct {
	Self         string `json:"self"`
	Response     string `json:"response"`
	Verification string `json:"verification"`
}

// Bounds of what is shown of a response.
const (
	maxFiles  = 100
	maxPlaces = 10
)

func evidencePath(r *response.Row) string { return response.Path(r.ResponseID) + "/evidence" }

// Evidence gives what a verifier looks at. The fault is RESPONSE_NOT_FOUND.
func (s *Service) Evidence(ctx context.Context, id string) (*Evidence, error) {
	r, o, err := s.cfg.Responses.Find(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	e, spots, err := s.gather(ctx, o, r)
	if err != nil {
		return nil, err
	}
	e.SurveyID, e.Flags = o.SurveyID, []rule.Flag{}
	if r.Flags > 0 {
		if e.Flags, err = mark.List(ctx, s.db, r.NID); err != nil {
			return nil, err
		}
	}
	if spots, err = s.withHome(ctx, o, r, spots); err != nil {
		return nil, err
	}
	e.Distances = []Distance{}
	if mark.Exact(ctx) {
		e.Distances = distances(spots)
	}
	return e, s.receive(ctx, r.Workspace, e.Files)
}

// receive notes what is known of the files that have arrived.
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
	return append(spots, spot{"household", rule.Point{Lat: h.Location.Lat, Lon: h.Location.Lon}}), nil
}

// spot is a place as it is.
type spot struct {
	at string
	rule.Point
}

// gather finds files and places in a response.
func (s *Service) gather(ctx context.Context, o *survey.Open, r *response.Row) (*Evidence, []spot, error) {
	whole, err := s.cfg.Responses.Read(ctx, s.db, o.Project, r)
	if err != nil {
		return nil, nil, err
	}
	path := response.Path(r.ResponseID)
	e := &Evidence{
		ResponseID: r.ResponseID, RecordID: alias.Record(r.NID), Revision: r.Revision, Files: []EvidenceFile{}, Places: []Place{}, Erased: whole.Erased,
		Links: EvidenceLinks{Self: evidencePath(r), Response: path, Verification: path + "/verification"},
	}
	var answers map[string]any
	if err := json.Unmarshal(whole.Answers, &answers); err != nil {
		return nil, nil, fmt.Errorf("read answers: %w", err)
	}
	var spots []spot
	if p := whole.Location; p != nil {
		spots = append(spots, spot{"/location", rule.Point{Lat: p.Lat, Lon: p.Lon}})
		e.Places = append(e.Places, rounded(spots[0]))
	}
	for _, c := range o.Form.Columns() {
		switch {
		case c.Kind.Media:
			walk(answers, c.Path, "/responses", func(at string, v any) { e.addFile(c, at, v) })
		case c.Kind.Place:
			walk(answers, c.Path, "/responses", func(at string, v any) {
				p, ok := pointOf(v)
				if !ok || len(spots) == maxPlaces || len(e.Places) == maxPlaces {
					return
				}
				e.addPlace(c, spot{at, p})
				// Exact distances from places that everybody can read would tell
				// where the others are, and what is direct is nobody's to know.
				if c.PII == form.PIIIndirect {
					spots = append(spots, spot{at, p})
				}
			})
		}
	}
	return e, spots, e.addAttachments(r)
}

// addAttachments adds files that are no answer. Those of closed answers are not
// among them.
func (e *Evidence) addAttachments(r *response.Row) error {
	head, err := r.Head()
	if err != nil {
		return err
	}
	for _, a := range head.Attachments {
		known := slices.ContainsFunc(e.Files, func(f EvidenceFile) bool { return f.SHA256 == a.SHA256 })
		if !known && len(e.Files) < maxFiles {
			e.Files = append(e.Files, EvidenceFile{Type: form.File, SHA256: a.SHA256, Link: e.Links.Self + "/" + a.SHA256})
		}
	}
	return nil
}

func (e *Evidence) addFile(c form.Column, at string, v any) {
	name, _ := v.(string)
	hash, ok := strings.CutPrefix(name, "sha256:")
	switch {
	case !ok:
	case c.PII == form.PIIDirect, c.Kind.Personal && c.PII.Private():
		e.Closed = append(e.Closed, at)
	case len(e.Files) < maxFiles:
		e.Files = append(e.Files, EvidenceFile{Question: at, Type: c.Type, SHA256: hash, Link: e.Links.Self + "/" + hash})
	}
}

func (e *Evidence) addPlace(c form.Column, s spot) {
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

func pointOf(v any) (rule.Point, bool) {
	m, _ := v.(map[string]any)
	lat, ok := m["lat"].(float64)
	lon, also := m["lon"].(float64)
	return rule.Point{Lat: lat, Lon: lon}, ok && also
}

// rounded is a place to a hundredth of a degree.
func rounded(s spot) Place {
	to := func(v float64) float64 { return math.Round(v*100)/100 + 0 } // -0 is 0
	return Place{At: s.at, Lat: to(s.Lat), Lon: to(s.Lon)}
}

// distances are those of all pairs of places.
func distances(spots []spot) []Distance {
	out := []Distance{}
	for i, a := range spots {
		for _, b := range spots[i+1:] {
			out = append(out, Distance{a.at, b.at, math.Round(rule.Metres(a.Point, b.Point))})
		}
	}
	return out
}
