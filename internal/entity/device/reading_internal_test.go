package device

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func clock() time.Time { return time.UnixMilli(origin).UTC().Add(24 * time.Hour) }

// places lists "pointer code" of what is wrong.
func places(err error) []string {
	var out []string
	if f := fault.As(err); f != nil {
		for _, x := range f.Fields {
			out = append(out, x.Pointer+" "+x.Code)
		}
	}
	return out
}

func TestBatchCheck(t *testing.T) {
	t.Parallel()
	channels := func(n int) string {
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprintf(`"c%d":1`, i))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	for _, tt := range []struct {
		name, body string
		want       []string
	}{
		{"documented", `{"deviceId":"did:ixo:device/sum789","stoveId":"did:ixo:stove/456","readings":[{"timestamp":"2024-02-20T08:15:00Z","temperature":85.4,"cookingEvent":true,"duration":1800}],"status":{"battery":92,"signal":"strong","lastSync":"2024-02-20T08:20:00Z"}}`, nil},
		{"nothing", `{}`, []string{"/readings required"}},
		{"status alone", `{"readings":[],"status":{"battery":5}}`, nil},
		{"values alone", `{"readings":[{"timestamp":"2024-02-20T08:15:00+02:00","values":{"power":-3.5}}]}`, nil},
		{"neither", `{"readings":[{"timestamp":"2024-02-20T08:15:00Z"}]}`, []string{"/readings/0 required"}},
		{"no time", `{"readings":[{"temperature":1}]}`, []string{"/readings/0/timestamp required"}},
		{
			"not a time", `{"readings":[{"timestamp":"yesterday","temperature":1},{"timestamp":"2024-02-20","temperature":1}]}`,
			[]string{"/readings/0/timestamp invalid", "/readings/1/timestamp invalid"},
		},
		{"a clock never set", `{"readings":[{"timestamp":"1970-01-01T00:00:00Z","temperature":1}]}`, []string{"/readings/0/timestamp out_of_range"}},
		{"five minutes ahead", `{"readings":[{"timestamp":"2024-02-21T08:05:00Z","temperature":1}]}`, nil},
		{"more", `{"readings":[{"timestamp":"2024-02-21T08:05:00.001Z","temperature":1}]}`, []string{"/readings/0/timestamp out_of_range"}},
		{
			"too cold and too hot", `{"readings":[{"timestamp":"2024-02-20T08:15:00Z","temperature":-50.1},{"timestamp":"2024-02-20T08:20:00Z","temperature":1000.5}]}`,
			[]string{"/readings/0/temperature out_of_range", "/readings/1/temperature out_of_range"},
		},
		{"huge", `{"readings":[{"timestamp":"2024-02-20T08:15:00Z","values":{"x":1e300}}]}`, []string{"/readings/0/values/x out_of_range"}},
		{"sixteen channels", `{"readings":[{"timestamp":"2024-02-20T08:15:00Z","values":` + channels(16) + `}]}`, nil},
		{"seventeen", `{"readings":[{"timestamp":"2024-02-20T08:15:00Z","values":` + channels(17) + `}]}`, []string{"/readings/0/values too_many"}},
		{
			"odd names", `{"readings":[{"timestamp":"2024-02-20T08:15:00Z","values":{"a/b":1}},{"timestamp":"2024-02-20T08:20:00Z","values":{"":1}},{"timestamp":"2024-02-20T08:25:00Z","values":{"9x":1}}]}`,
			[]string{"/readings/0/values invalid", "/readings/1/values invalid", "/readings/2/values invalid"},
		},
		{"negative duration", `{"readings":[{"timestamp":"2024-02-20T08:15:00Z","temperature":1,"duration":-1}]}`, []string{"/readings/0/duration out_of_range"}},
		{"no object", `{"readings":[5,null,{"timestamp":7}]}`, []string{"/readings/0 wrong_type", "/readings/1/timestamp required", "/readings/1 required", "/readings/2/timestamp wrong_type"}},
		{"one is good", `{"readings":[{"timestamp":"2024-02-20T08:15:00Z","temperature":"hot"},{"timestamp":"2024-02-20T08:15:00Z","temperature":1},{"timestamp":"x"}]}`, nil},
		{"twice the same", `{"readings":[{"timestamp":"2024-02-20T08:15:00Z","temperature":1},{"timestamp":"2024-02-20T10:15:00+02:00","temperature":1.0}]}`, nil},
		{"twice and different", `{"readings":[{"timestamp":"2024-02-20T08:15:00Z","temperature":1},{"timestamp":"2024-02-20T08:15:00.0004Z","temperature":2}]}`, []string{"/readings/0 conflict", "/readings/1 conflict"}},
		{
			"status", `{"status":{"battery":101,"signal":"` + strings.Repeat("x", 41) + `","lastSync":"now"}}`,
			[]string{"/status/lastSync invalid", "/status/battery out_of_range", "/status/signal too_long"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var b Batch
			if err := web.DecodeStrict([]byte(tt.body), &b, false); err != nil {
				t.Fatal(err)
			}
			_, err := b.check(clock())
			if diff := cmp.Diff(tt.want, places(err)); diff != "" {
				t.Errorf("wrong (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBatchLimits(t *testing.T) {
	t.Parallel()
	temp := 1.0
	var b Batch
	for i := range 5001 {
		b.Readings = append(b.Readings, ReadingDraft{Timestamp: moment(origin + int64(i)).Format(time.RFC3339Nano), Temperature: &temp})
	}
	if _, err := b.check(clock()); !slices.Equal(places(err), []string{"/readings too_many"}) {
		t.Errorf("5001 readings = %v, want too_many", err)
	}
	b.Readings = b.Readings[:5000]
	if _, err := b.check(clock()); err != nil {
		t.Errorf("5000 readings = %v", err)
	}
	for i := range b.Readings {
		b.Readings[i].Timestamp = "x"
	}
	if _, err := b.check(clock()); len(places(err)) != 100 {
		t.Errorf("%d wrong readings named, want the first 100", len(places(err)))
	}
}

// A reading is the same however its numbers, members and time are written, and
// comes back as it was sent.
func TestRowIsCanonical(t *testing.T) {
	t.Parallel()
	rowOf := func(body string) row {
		var b Batch
		if err := json.Unmarshal([]byte(`{"readings":[`+body+`]}`), &b); err != nil {
			t.Fatal(err)
		}
		p, err := b.check(clock())
		if err != nil {
			t.Fatal(err)
		}
		return p.rows[0]
	}
	a := rowOf(`{"timestamp":"2024-02-20T08:15:00Z","temperature":-0.0,"duration":1800,"values":{"b":2,"a":-0}}`)
	b := rowOf(`{"values":{"a":0.0,"b":2e0},"temperature":0,"duration":1.8e3,"timestamp":"2024-02-20T09:15:00.0001+01:00"}`)
	if !a.same(b) {
		t.Errorf("%+v and %+v differ", a, b)
	}
	for _, other := range []string{
		`{"timestamp":"2024-02-20T08:15:00Z","duration":1800,"values":{"b":2,"a":0}}`,
		`{"timestamp":"2024-02-20T08:15:00Z","temperature":0,"values":{"b":2,"a":0}}`,
		`{"timestamp":"2024-02-20T08:15:00Z","temperature":0,"duration":1800,"cookingEvent":false,"values":{"b":2,"a":0}}`,
		`{"timestamp":"2024-02-20T08:15:00Z","temperature":0.1,"duration":1800,"values":{"b":2,"a":0}}`,
	} {
		if a.same(rowOf(other)) {
			t.Errorf("%s counts as the same", other)
		}
	}
	got, err := b.reading()
	text, err2 := web.Encode(got)
	if err != nil || err2 != nil || string(text) != `{"timestamp":"2024-02-20T08:15:00.000Z","temperature":0,"duration":1800,"values":{"a":0,"b":2}}` {
		t.Errorf("reading = %s, %v, %v", text, err, err2)
	}
	if plain := rowOf(`{"timestamp":"2024-02-20T08:15:00Z","temperature":85.4}`); plain.data != "" {
		t.Errorf("a plain temperature has data %q, want none", plain.data)
	}
}

// However a batch is shuffled, the parcel is the same.
func TestParcelHasNoOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b Batch
		for range rapid.IntRange(1, 20).Draw(t, "n") {
			temp := float64(rapid.IntRange(0, 1).Draw(t, "temp"))
			b.Readings = append(b.Readings, ReadingDraft{Timestamp: moment(origin + rapid.Int64Range(0, 9).Draw(t, "at")).Format(time.RFC3339Nano), Temperature: &temp})
		}
		first, err := b.check(clock())
		b.Readings = rapid.Permutation(b.Readings).Draw(t, "order")
		second, err2 := b.check(clock())
		if (err == nil) != (err2 == nil) {
			t.Fatalf("check() = %v and %v", err, err2)
		}
		if err != nil {
			return
		}
		if first.repeats != second.repeats || len(first.refused) != len(second.refused) || !slices.EqualFunc(first.rows, second.rows, row.same) {
			t.Fatalf("parcels %+v and %+v", first, second)
		}
		if !slices.IsSortedFunc(first.rows, func(a, b row) int { return int(a.at - b.at) }) || len(first.rows)+first.repeats+len(first.refused) != len(b.Readings) {
			t.Fatalf("rows %+v with %d repeats of %d", first.rows, first.repeats, len(b.Readings))
		}
	})
}

// Whatever is sent: no panic, and what is accepted can be stored and shown.
func FuzzBatch(f *testing.F) {
	f.Add(`{"readings":[{"timestamp":"2024-02-20T08:15:00Z","temperature":85.4,"cookingEvent":true,"duration":1800}],"status":{"battery":92,"signal":"strong","lastSync":"2024-02-20T08:20:00Z"}}`)
	f.Add(`{"readings":[{"timestamp":"2024-02-20T08:15:00Z","values":{"power":1e15,"x.y-z_":-1}}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		var b Batch
		if web.DecodeStrict([]byte(body), &b, false) != nil {
			return
		}
		p, err := b.check(clock())
		if err != nil {
			if fault.KindOf(err) != fault.Invalid {
				t.Fatalf("check() = %v, want an invalid input", err)
			}
			return
		}
		for i, r := range p.rows {
			if i > 0 && r.at <= p.rows[i-1].at || r.at < earliest {
				t.Fatalf("row %d at %d", i, r.at)
			}
			if r.temp != nil && math.IsNaN(*r.temp) {
				t.Fatal("not a number")
			}
			if _, err := r.reading(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
