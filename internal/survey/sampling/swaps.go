package sampling

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/order"
)

// swapData is what an entry of the audit log says about a replacement. Sum is made of
// this one and of the sum before, so that the last entry fixes them all.
type swapData struct {
	DrawID   string `json:"drawId"`
	Place    int    `json:"place"`
	Replaces int    `json:"replaces"`
	Number   int    `json:"number,omitzero"`
	Sum      string `json:"replacements,omitzero"`
}

// sumOfSwap is the sum of a replacement and of all before it. Everything about it
// stands with the household that is replaced: the next one may be replaced in turn.
func sumOfSwap(before string, old api.SampleUnit, place int) string {
	text := fmt.Sprintf("%s\x1f%d\x1f%s\x1f%d\x1f%s\x1f%s\x1f%s\x1f%d", before, old.Place, old.Unit, place, old.ReplacedBy, old.Reason, old.By, old.At.UnixMilli())
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// splitEntries takes the entry of the last replacement away from the others.
func splitEntries(all []api.SampleEntry) (others []api.SampleEntry, last *api.SampleEntry) {
	if n := len(all); n > 0 && all[n-1].Type == replacedEvent {
		return all[:n-1], &all[n-1]
	}
	return all, nil
}

// swapsHold reports whether the replacements of a record are those that the entry of
// the last one fixes.
func swapsHold(rec *api.SampleRecord, last *api.SampleEntry) bool {
	places := map[string]int{}
	var swaps []api.SampleUnit
	for _, u := range rec.Units {
		places[u.Unit] = u.Place
		if u.ReplacedBy != "" {
			swaps = append(swaps, u)
		}
	}
	if last == nil {
		return len(swaps) == 0
	}
	order.Sort(swaps, func(a, b api.SampleUnit) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Place, b.Place))
	})
	var data swapData
	if last.Hash != EntryHash(last) || json.Unmarshal([]byte(last.Data), &data) != nil || len(swaps) == 0 {
		return false
	}
	sum := ""
	for _, u := range swaps {
		sum = sumOfSwap(sum, u, places[u.ReplacedBy])
	}
	end := swaps[len(swaps)-1]
	want := swapData{DrawID: rec.Draw.DrawID, Place: places[end.ReplacedBy], Replaces: end.Place, Number: len(swaps), Sum: sum}
	return data == want && last.Subject == rec.Draw.DesignID && last.Revision == int64(rec.Draw.Version) && last.Time.Equal(end.At) && last.Actor == cmp.Or(end.By, "system")
}

// swapTime is the time of the next replacement of a draw: that of the clock, but after
// the last one, so that their order shows.
func (s *drawer) swapTime(d *drawRow) time.Time {
	now := s.now()
	if _, last := splitEntries(d.Entries); last != nil && !now.After(last.Time) {
		return last.Time.Add(time.Millisecond)
	}
	return now
}

// swapEntry is the event of a replacement, which the draw keeps in place of the one
// before. Draws from before replacements were fixed keep none.
func (s *drawer) swapEntry(ctx context.Context, d *drawRow, x swap) (event.Event, error) {
	others, last := splitEntries(d.Entries)
	data := swapData{DrawID: d.DrawID, Place: x.next.Place, Replaces: x.old.Place}
	fixed := fixesSwaps(others)
	if fixed {
		var before swapData
		if last != nil {
			if err := json.Unmarshal([]byte(last.Data), &before); err != nil {
				return event.Event{}, fmt.Errorf("read entry: %w", err)
			}
		}
		data.Number, data.Sum = before.Number+1, sumOfSwap(before.Sum, x.old.SampleUnit, x.next.Place)
	}
	text, err := json.Marshal(data, json.Deterministic(true))
	if err != nil {
		return event.Event{}, fmt.Errorf("encode entry: %w", err)
	}
	d.Entries = others
	e := keepEntry(ctx, replacedEvent, d, dated{text, x.old.At})
	if !fixed {
		d.Entries = others
	}
	return e, nil
}

// fixesSwaps reports whether the entry of a draw says that its replacements have
// entries.
func fixesSwaps(entries []api.SampleEntry) bool {
	var data entryData
	n := len(entries)
	return n > 0 && json.Unmarshal([]byte(entries[n-1].Data), &data) == nil && data.Replacements
}
