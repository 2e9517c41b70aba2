package machine_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 60)
	for _, tt := range []struct {
		check, in, want string
		ok              bool
	}{
		{"name", "Zoë Nyong'o-Müller Jr.", "Zoë Nyong'o-Müller Jr.", true},
		{"name", "  María   José ", "María José", true},
		{"name", "አበበ ቢቂላ", "አበበ ቢቂላ", true},
		{"name", long, long, true},
		{"name", long + "e", "", false},
		{"name", "R2D2", "", false},
		{"name", "-.'", "", false},
		{"name", "", "", false},
		{"name", "\u3164\u3164", "", false}, // letters that nobody sees
		{"name", "\u115f", "", false},
		{"name", "\u1160", "", false},
		{"name", "\uffa0", "", false},
		{"name", "Ami\u3164na", "", false},
		{"name", "Ami\u034fna", "", false},
		{"name", "Ami\ufe0fna", "", false},
		{"name", "Ami\u200bna", "", false},
		{"name", "Ami\u00adna", "", false},
		{"name", "A" + strings.Repeat("\u0301", 4), "A" + strings.Repeat("\u0301", 4), true},
		{"name", "A" + strings.Repeat("\u0301", 5), "", false},
		{"name", strings.Repeat("a\u0301", 6), strings.Repeat("a\u0301", 6), true},
		{"name", "\u0928\u0930\u0947\u0928\u094d\u0926\u094d\u0930", "\u0928\u0930\u0947\u0928\u094d\u0926\u094d\u0930", true},
		{"email", "a@b.co", "a@b.co", true},
		{"email", "first.last+x@mail.example.org", "first.last+x@mail.example.org", true},
		{"email", "a@b", "", false},
		{"email", "a@b..co", "", false},
		{"email", "a@-b.co", "", false},
		{"email", "@b.co", "", false},
		{"email", "a b@c.de", "", false},
		{"email", "a@b@c.de", "", false},
		{"email", strings.Repeat("a", 100) + "@b.co", "", false},
		{"customerId", "cabcd1234", "CABCD1234", true},
		{"customerId", "CABCD1234", "CABCD1234", true},
		{"customerId", "XABCD1234", "", false},
		{"customerId", "CABC", "", false},
		{"customerId", "CABCD-1234", "", false},
		{"pin", "48213", "48213", true},
		{"pin", "4821", "", false},
		{"pin", "4821x", "", false},
		{"pin", "٤٨٢١٣", "", false},
		{"pinLogin", "4821", "4821", true},
		{"pinLogin", "482134", "482134", true},
		{"pinLogin", "4821345", "", false},
		{"code6", "123456", "123456", true},
		{"code6", "12345", "", false},
		{"digits", "00123", "00123", true},
		{"digits", "", "", false},
		{"integer", "-5", "-5", true},
		{"integer", "+5", "", false},
		{"integer", "5.5", "", false},
		{"integer:1..30", "030", "30", true},
		{"integer:1..30", "0", "", false},
		{"integer:1..30", "31", "", false},
		{"integer:-3..3", "-3", "-3", true},
		{"integer:x", "1", "", false},
		{"phone", "+254700000001", "+254700000001", true},
		{"phone", "254 700 000 001", "+254700000001", true},
		{"phone", "00254700000001", "+254700000001", true},
		{"phone", "0700000001", "", false},
		{"phone", "12345", "", false},
		{"text", " anything 1! ", "anything 1!", true},
		{"text", strings.Repeat("x", 101), "", false},
		{"", "free", "free", true},
		{"nobody", "x", "", false},
	} {
		got, ok := machine.Check(tt.check, tt.in)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("Check(%q, %q) = %q, %v; want %q, %v", tt.check, tt.in, got, ok, tt.want, tt.ok)
		}
	}
	for _, c := range machine.Checks() {
		name := c.Name
		if c.About == "" {
			t.Errorf("check %s is not described", name)
		}
		if _, ok := machine.Check(name, strings.Repeat("\U0001f600", 200)); ok {
			t.Errorf("check %s takes 200 pictures", name)
		}
	}
}
