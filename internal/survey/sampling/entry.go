package sampling

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Members of a draw that are fixed with its commitment, and those that are fixed
// once it is drawn. Parts and seed are in neither, because the hash of a short one
// would give it away: the sum of the sample fixes them, see sumOf.
var (
	atCommit = []string{
		"drawId", "designId", "version", "projectId", "surveyId", "frameId", "frameHash", "population", "units", "plan", "commitment", "committedAt",
		"committedBy", "second", "reason", "earlierOfFrame", "earlierOfProject",
	}
	atDraw = append(slices.Clip(atCommit), "secondBy", "secondAt", "soleSeed", "drawnAt", "drawnBy", "drawn", "reserve", "stages")
)

// entryData is what an entry of the audit log says about a draw.
type entryData struct {
	DrawID     string `json:"drawId"`
	Version    int    `json:"version"`
	FrameID    string `json:"frameId"`
	FrameHash  string `json:"frameHash"`
	Commitment string `json:"commitment,omitzero"`
	Second     string `json:"second,omitzero"`
	SoleSeed   bool   `json:"soleSeed,omitzero"`
	Population int64  `json:"population"`
	Drawn      int    `json:"drawn,omitzero"`
	SurveyID   string `json:"surveyId,omitzero"`
	// Sample is the sum of the drawn sample, once it exists.
	Sample string `json:"sample,omitzero"`
	// Replacements means that entries also fix the replacements of this draw.
	Replacements bool `json:"replacementsFixed,omitzero"`
	// Members has the SHA-256 of each fixed member of the record.
	Members map[string]string `json:"members"`
}

// sums returns the hashes of members of a draw and of the version of its design.
// Approval of that version is not included, because it may come later.
func sums(v *Design, d *api.SampleDraw, names []string) (map[string]string, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode draw: %w", err)
	}
	var have map[string]jsontext.Value
	if err := json.Unmarshal(text, &have); err != nil {
		return nil, fmt.Errorf("read draw: %w", err)
	}
	plain := *v
	plain.Verification, plain.Deleted = api.SampleVerification{}, time.Time{}
	if have["design"], err = json.Marshal(plain); err != nil {
		return nil, fmt.Errorf("encode sample design: %w", err)
	}
	out := map[string]string{}
	for _, name := range append(slices.Clone(names), "design") {
		sum := sha256.Sum256(have[name])
		out[name] = hex.EncodeToString(sum[:])
	}
	return out, nil
}

// sumOf is the SHA-256 of everything that was drawn, replacements too, in order and
// with ranks. Ranks are made of the seed, so that another seed, and with it another
// second part, has another sum.
func sumOf(d *Drawn) string {
	h := sha256.New()
	for _, u := range d.Units {
		_, _ = fmt.Fprintf(h, "%s\x1f%s\x1f%t\n", u.Unit.Unit, u.Rank, u.Reserve)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// members are those that an entry of a type fixes.
func members(kind string) []string {
	if kind == drawnEvent {
		return atDraw
	}
	return atCommit
}

// The events that stand in records.
const (
	committedEvent = "sampling.committed"
	drawnEvent     = "sampling.drawn"
	replacedEvent  = "sampling.replaced"
)

// entry is the event of a change of a draw, which the draw keeps with its hash.
func (s *core) entry(ctx context.Context, kind string, v *Design, d *drawRow) (event.Event, error) {
	data := entryData{
		DrawID: d.DrawID, Version: d.Version, FrameID: d.FrameID, FrameHash: d.FrameHash, Commitment: d.Commitment, SoleSeed: d.SoleSeed, Population: d.Population,
		Drawn: d.Drawn, SurveyID: d.SurveyID,
	}
	if d.Second != nil {
		data.Second = d.Second.Source
	}
	data.Sample, data.Replacements = d.sample, kind == drawnEvent
	var err error
	if data.Members, err = sums(v, &d.SampleDraw, members(kind)); err != nil {
		return event.Event{}, err
	}
	text, err := json.Marshal(data, json.Deterministic(true))
	if err != nil {
		return event.Event{}, fmt.Errorf("encode entry: %w", err)
	}
	return keepEntry(ctx, kind, d, dated{text, s.now()}), nil
}

// dated is the data of an entry, and when it is made.
type dated struct {
	data []byte
	at   time.Time
}

// keepEntry adds an entry to those of a draw and gives its event.
func keepEntry(ctx context.Context, kind string, d *drawRow, of dated) event.Event {
	c := web.CallerFrom(ctx)
	out := event.Event{Workspace: c.Workspace, Type: kind, Subject: d.DesignID, Revision: int64(d.Version), Actor: c.DID, At: of.at, Data: jsontext.Value(of.data)}
	if out.Actor == "" {
		out.Actor = "system"
	}
	kept := api.SampleEntry{Type: kind, Subject: out.Subject, Revision: out.Revision, Actor: out.Actor, Time: out.At, Data: string(of.data)}
	kept.Hash = EntryHash(&kept)
	d.Entries = append(slices.Clip(d.Entries), kept)
	return out
}

// EntryHash is the hash of an entry of the audit log for records.
func EntryHash(e *api.SampleEntry) string {
	text := strings.Join([]string{e.Type, e.Subject, strconv.FormatInt(e.Revision, 10), e.Actor, e.Time.UTC().Format("2006-01-02T15:04:05.000Z"), e.Data}, "\x1f")
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// entriesHold says which members of a record are not what the entries of the audit
// log fix; nil when all are.
func entriesHold(rec *api.SampleRecord, again *Drawn) (wrong []string) {
	want := []string{committedEvent, drawnEvent}
	if rec.Draw.SoleSeed {
		want = want[1:]
	}
	entries, last := splitEntries(rec.Draw.Entries)
	if len(entries) != len(want) {
		return []string{"draw/entries"}
	}
	fixed := false
	for i := range entries {
		e := &entries[i]
		at := fmt.Sprintf("draw/entries/%d", i)
		var data entryData
		if e.Type != want[i] || e.Hash != EntryHash(e) || json.Unmarshal([]byte(e.Data), &data) != nil {
			wrong = append(wrong, at)
			continue
		}
		fixed = fixed || data.Replacements
		if data.Sample != "" && data.Sample != sumOf(again) {
			wrong = append(wrong, "draw/seed")
		}
		now, err := sums(&rec.Design, &rec.Draw, members(e.Type))
		if err != nil {
			return append(wrong, at)
		}
		for _, name := range append(slices.Clone(members(e.Type)), "design") {
			path := "draw/" + name
			if name == "design" {
				path = name
			}
			if now[name] != data.Members[name] && !slices.Contains(wrong, path) {
				wrong = append(wrong, path)
			}
		}
	}
	if (fixed || last != nil) && !swapsHold(rec, last) {
		wrong = append(wrong, fmt.Sprintf("draw/entries/%d", len(entries)))
	}
	return wrong
}
