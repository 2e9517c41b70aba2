package demo

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// plan is everything about a demo that follows from its seed and the moment it
// was begun.
type plan struct {
	seed  int64
	scale int
	id    string
	begun time.Time
}

// Sizes of the demo at full scale.
const (
	households = 300 // and as many stoves
	monitors   = 60
	days       = 60
)

// size is a number at the scale of the plan, at least 1.
func (p *plan) size(full int) int { return max(1, full/p.scale) }

// dice is a source of randomness for one thing, so that later additions to the
// demo leave everything else unchanged.
func (p *plan) dice(name string) *rand.Rand {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s", p.seed, name))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])))
}

// uuid is an id that follows from the seed.
func (p *plan) uuid(name string) string {
	b := sha256.Sum256(fmt.Appendf(nil, "%d/uuid/%s", p.seed, name))
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // version 8: as its maker likes
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// day is the beginning, in UTC, of a day so many days before the load.
func (p *plan) day(before int) time.Time {
	return p.begun.UTC().Truncate(24*time.Hour).AddDate(0, 0, -before)
}

// pick takes one of several.
func pick[T any](d *rand.Rand, of ...T) T { return of[d.IntN(len(of))] }

// round cuts a number to so many decimals.
func round(v float64, decimals int) float64 {
	f := math.Pow10(decimals)
	return math.Round(v*f) / f
}

// district is where households are.
type district struct {
	name     string
	lat, lon float64
	density  string
}

var districts = []district{
	{"Kitui", -1.3670, 38.0106, "low"},
	{"Makueni", -1.8039, 37.6203, "medium"},
	{"Machakos", -1.5177, 37.2634, "high"},
}

// Names as people have them in these districts.
var (
	women    = []string{"Mwende", "Ndunge", "Kavata", "Mumbua", "Syombua", "Nduku", "Katunge", "Mueni", "Wanza", "Kamene", "Ndinda", "Mbithe", "Kalekye", "Mukulu", "Nthenya", "Syokau"}
	men      = []string{"Mutua", "Kioko", "Muthama", "Kyalo", "Mwendwa", "Nzioka", "Kimanzi", "Musau", "Mutiso", "Kilonzi", "Makau", "Ndolo", "Mbithi", "Kasyoka", "Muema", "Munywoki"}
	families = []string{"Musyoka", "Wambua", "Kilonzo", "Munyao", "Mutinda", "Nzomo", "Mulwa", "Ngila", "Kithome", "Muli", "Maingi", "Nthiwa", "Kaloki", "Mailu", "Ndeto", "Syengo", "Muindi", "Kisilu", "Ndambuki", "Mwanzia"}
)

// home is a household of the plan.
type home struct {
	n        int // from 1
	district district
	name     string
	size     int64
	lat, lon float64
	fuel     string
	monthly  float64 // kg of fuel a month
	phone    string
}

// external is its external id.
func (h *home) external() string { return fmt.Sprintf("demo-household-%04d", h.n) }

// stove is the external id, and the serial number, of its stove.
func (h *home) stove() string { return fmt.Sprintf("demo-stove-%04d", h.n) }

// monitor is the external id of its stove's monitor.
func (h *home) monitor() string { return fmt.Sprintf("demo-monitor-%04d", h.n) }

// homes are all households of the plan. The districts take turns.
func (p *plan) homes() []home {
	out := make([]home, p.size(households))
	for i := range out {
		h, d := &out[i], p.dice(fmt.Sprint("home/", i))
		h.n, h.district = i+1, districts[i%len(districts)]
		first := pick(d, women...)
		if d.IntN(3) == 0 {
			first = pick(d, men...)
		}
		h.name = first + " " + pick(d, families...)
		h.size = int64(2 + d.IntN(4) + d.IntN(4))
		// A grid with some chance in it: no two households come to lie in one place.
		row, column := (i/len(districts))/10, (i/len(districts))%10
		h.lat = round(h.district.lat+(float64(row)-5)*0.012+(d.Float64()-0.5)*0.006, 5)
		h.lon = round(h.district.lon+(float64(column)-5)*0.012+(d.Float64()-0.5)*0.006, 5)
		h.fuel = pick(d, "wood", "wood", "wood", "charcoal", "charcoal")
		h.monthly = float64(60 + d.IntN(60))
		if h.fuel == "charcoal" {
			h.monthly = float64(25 + d.IntN(25))
		}
		h.phone = phone(1000 + h.n)
	}
	return out
}

// phone is a number that nobody has: after the country code no number begins
// with 0, which is for calls inside the country.
func phone(n int) string { return fmt.Sprintf(numbers+"%06d", n) }

// numbers is how the numbers of demos begin. No network gives them to anybody.
const numbers = "+254000"

// Rings reports whether a number belongs to a demo.
func Rings(phone string) bool { return strings.HasPrefix(phone, numbers) }
