package sampling

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// beacon is a public source of random values whose form is known. Where it has
// rounds these say when a value is published.
type beacon struct {
	format  string
	genesis int64         // seconds since 1970 at which round 1 is published
	period  time.Duration // between two values
	rounds  bool
	url     string // where a value is found, by its round
}

// beacons are those that are known by name. The numbers of drand are those of its
// public chains.
var beacons = map[string]beacon{
	"drand/quicknet": {
		"hex64", 1692803367, 3 * time.Second, true,
		"https://api.drand.sh/52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971/public/%d",
	},
	"drand/default": {
		"hex64", 1595431050, 30 * time.Second, true,
		"https://api.drand.sh/8990e7a9aaed2ffed73dbd7092123d6f289930540d7651336225dc172e51b2ce/public/%d",
	},
	"nist/2.0": {format: "hex128", period: time.Minute, url: "https://beacon.nist.gov/beacon/2.0/pulse/time/%d"},
}

// formats are the ways in which values are written.
var formats = map[string]*regexp.Regexp{
	"hex64":   regexp.MustCompile(`^[0-9a-f]{64}$`),
	"hex128":  regexp.MustCompile(`^[0-9a-f]{128}$`),
	"numbers": regexp.MustCompile(`^[0-9]{1,9}( [0-9]{1,9}){3,39}$`),
}

// maxRound keeps the time of a round within this century.
const maxRound = 1_000_000_000

// time is when the value of a round is published.
func (b *beacon) time(round int64) time.Time {
	return time.Unix(b.genesis, 0).UTC().Add(time.Duration(round-1) * b.period)
}

// checkSecond requires that the source of the second part is fixed beforehand:
// a manager who could choose among several would choose the sample. It fills in
// the details of a known beacon.
func (s *drawer) checkSecond(ctx context.Context, c *fault.Checks, in *api.SampleSecond) {
	c.Require(in.Source != "", "/second/source")
	check.OneOf(c, "/second/source", in.Source, "party", "beacon")
	check.Short(c, "/second/beacon", in.Beacon, survey.MaxName)
	switch in.Source {
	case "beacon":
		if in.Party != "" {
			c.Add("/second/party", "not_allowed", "A beacon is not a party. Omit the party, or the beacon.")
		}
		checkBeacon(c, in, s.now())
	case "party":
		if in.Party != "" {
			survey.CheckDID(c, "/second/party", in.Party)
		}
		if in.Party != "" && in.Party == web.CallerFrom(ctx).DID {
			c.Add("/second/party", "not_allowed", "The second part must come from somebody else.")
		}
		if in.Beacon != "" || !in.At.IsZero() || in.Round != 0 || in.Format != "" {
			c.Add("/second/beacon", "not_allowed", "Only a beacon has beacon, round, at and format.")
		}
	}
}

func checkBeacon(c *fault.Checks, in *api.SampleSecond, now time.Time) {
	c.Require(in.Beacon != "", "/second/beacon")
	in.At = in.At.UTC().Truncate(time.Millisecond)
	b, known := beacons[in.Beacon]
	if in.Format == "" {
		in.Format = b.format
	}
	switch {
	case known && in.Format != b.format:
		c.Add("/second/format", "mismatch", "The values of this beacon are written as "+b.format+".")
	case in.Format == "":
		c.Add("/second/format", "required", "Name the format of the value: hex64, hex128 or numbers.")
	default:
		check.OneOf(c, "/second/format", in.Format, "hex64", "hex128", "numbers")
	}
	switch {
	case b.rounds && (in.Round < 1 || in.Round > maxRound):
		c.Add("/second/round", "required", "Name the round whose value is used.")
		return
	case b.rounds:
		at := b.time(in.Round)
		if !in.At.IsZero() && !in.At.Equal(at) {
			c.Add("/second/at", "mismatch", "The value of this round is published at "+at.Format(time.RFC3339)+".")
		}
		in.At = at
	case in.Round != 0:
		c.Add("/second/round", "not_allowed", "Only drand has rounds; for this beacon give the time at which the value is published.")
	case known && !in.At.Equal(in.At.Truncate(b.period)):
		c.Add("/second/at", "invalid", "This beacon has a value for each full minute.")
	}
	if !in.At.After(now) {
		at := "/second/at"
		if b.rounds {
			at = "/second/round"
		}
		c.Add(at, "out_of_range", "The value of the beacon must not be published yet: give a time, or a round, after now.")
	}
}

// checkValue requires the value of a beacon in the notation of the commitment. The
// fault is SAMPLE_DRAW_INVALID.
func checkValue(want *api.SampleSecond, part string) error {
	if re := formats[want.Format]; want.Source != "beacon" || re == nil || re.MatchString(part) {
		return nil
	}
	return fault.New(fault.Invalid, badDraw, badText).With(fault.Field{
		Pointer: "/part", Code: "invalid", Detail: "The commitment says that the value of the beacon is written as " + want.Format + ".",
	})
}

// found says where anybody finds the value of a beacon.
func found(in *api.SampleSecond) string {
	at := in.At.UTC().Format("2006-01-02 15:04:05 UTC")
	b, known := beacons[in.Beacon]
	switch {
	case !known:
		return fmt.Sprintf("Compare the second part with what %s published at %s.", in.Beacon, at)
	case b.rounds:
		return fmt.Sprintf("Compare the second part with round %d of %s, published at %s: "+b.url, in.Round, in.Beacon, at, in.Round)
	}
	return fmt.Sprintf("Compare the second part with what %s published at %s: "+b.url, in.Beacon, at, in.At.UnixMilli())
}

// beaconHolds reports whether the value of a beacon is dated after the commitment,
// and written and dated as its beacon has it.
func beaconHolds(d *api.SampleDraw) bool {
	in := d.Second
	b, known := beacons[in.Beacon]
	if !in.At.After(d.CommittedAt) || d.SecondAt.Before(in.At) || checkValue(in, d.SecondPart) != nil {
		return false
	}
	return !known || in.Format == b.format && (!b.rounds || b.time(in.Round).Equal(in.At))
}
