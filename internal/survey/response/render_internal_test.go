package response

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// FuzzShow wants the record that is put together from parts to be the one that
// is encoded whole.
func FuzzShow(f *testing.F) {
	f.Add("resp_789", "verified", "did:ixo:agent/456", int64(1_700_000_000_123), int64(1), []byte("x"), "a \"quoted\" \\ text\u2028</script>", -1.25)
	f.Add("r", "pending", "", int64(0), int64(0), []byte{}, "", 0.0)
	f.Add("r", "rejected", "did:key:z", int64(5), int64(2), []byte{1, 2, 3}, "\x00\xff ü", 1e300)
	f.Fuzz(func(t *testing.T, id, vstatus, verifier string, at, reviews int64, bits []byte, text string, number float64) {
		// What the edge refuses cannot be stored: it becomes the nearest that can.
		if !idForm.MatchString(id) {
			id = "r" + hex.EncodeToString([]byte(id[:min(len(id), 40)]))
		}
		at, reviews = min(max(at, 0), 7_258_118_400_000), min(max(reviews, 0), 9)
		text = strings.ToValidUTF8(text, "\ufffd")
		if math.IsNaN(number) || math.IsInf(number, 0) {
			number = 0
		}
		switch vstatus {
		case Pending, InReview, NeedsCorrection, Flagged, Verified, Rejected, Disputed, Invalidated, Superseded:
		default:
			vstatus = Pending
		}
		if verifier != "" {
			verifier = "did:key:" + hex.EncodeToString([]byte(verifier))
		}
		bit := func(i int) bool { return i < len(bits) && bits[i]&1 == 1 }
		want, row, whole, x := parts(t, id, bit, text, number)
		row.VStatus, row.Verifier, row.VerifiedAt, row.Reviews = vstatus, verifier, at, reviews
		row.Revision, row.UpdatedAt = at+1, at
		want.RecordID = "rec~0"
		want.Revision, want.Updated, want.Verification = row.Revision, time.UnixMilli(at).UTC(), row.Verification()
		got, err := row.show(whole, x)
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := web.Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		if !jsontext.Value(got).IsValid() || string(got) != string(wanted) {
			t.Errorf("show  = %s\nwant  = %s", got, wanted)
		}
	})
}

// parts makes a record and what it is stored as.
func parts(t *testing.T, id string, bit func(int) bool, text string, number float64) (Record, *Row, Whole, extras) {
	t.Helper()
	answers, err := json.Marshal(map[string]any{"s": map[string]any{"q": text, "n": number}}, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	h := Head{
		ResponseID: id, SurveyID: "s", HouseholdID: "did:ixo:household/1", Round: 1, Timestamp: time.UnixMilli(1_700_000_000_000), ReceivedAt: time.UnixMilli(1_700_000_001_000),
		Status: Complete, Links: Links{Self: Path(id)},
	}
	if bit(0) {
		h.DeviceID, h.Metadata = text, form.Object{Value: []byte(`{"a":[1,2,{}]}`)}
	}
	body, err := web.Encode(h)
	if err != nil {
		t.Fatal(err)
	}
	row, whole := &Row{ResponseID: id, Body: body}, Whole{Answers: answers, Erased: bit(1)}
	var x extras
	if bit(2) {
		whole.Location = &Location{Lat: 1.5, Lon: -2}
	}
	list := []string{"/responses/s/q", text}
	if bit(3) {
		if x.masked, err = json.Marshal(list); err != nil {
			t.Fatal(err)
		}
	}
	if bit(4) {
		x.waiting = []string{id}
	}
	if bit(5) {
		x.flags = []flag.Flag{{Rule: "gps_distance", Detail: "far", Value: number}}
	}
	var want Record
	if err := json.Unmarshal(body, &want.Head); err != nil {
		t.Fatal(err)
	}
	want.Responses, want.Location, want.Erased, want.Waiting, want.Flags = form.Object{Value: answers}, whole.Location, whole.Erased, x.waiting, x.flags
	if want.Flags == nil {
		want.Flags = []flag.Flag{}
	}
	if x.masked != nil {
		if err := json.Unmarshal(x.masked, &want.Masked); err != nil {
			t.Fatal(err)
		}
	}
	return want, row, whole, x
}
