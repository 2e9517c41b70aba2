package account

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

func TestParseKey(t *testing.T) {
	t.Parallel()
	raw := []byte("\x3f\x1c\x8a\x5b\xe0\x9d\x47\x26\x61\xe0\xb4\xc2\xd9\x7a\x8f\x30\x55\xb6\xc1\xe2\xf3\xa4\x97\x8d\x0c\x1b\x2a\x3f\x4e\x5d\x6c\x7b")
	digits := hex.EncodeToString(raw)
	for _, tt := range []struct {
		name, text string
		same       bool // the key that raw is
		bad        bool
	}{
		{"hexadecimal", digits, true, false},
		{"upper case", strings.ToUpper(digits), true, false},
		{"base64", base64.StdEncoding.EncodeToString(raw), true, false},
		{"base64 without padding", base64.RawStdEncoding.EncodeToString(raw), true, false},
		{"base64 for URLs", base64.URLEncoding.EncodeToString(raw), true, false},
		{"bytes", string(raw), true, false},
		{"32 characters", "0123456789abcdef0123456789abcdef", false, false},
		{"passphrase", "twelve chars", false, false},
		{"passphrase of 64 that is not hexadecimal", strings.Repeat("stove ", 10) + "fire", false, false},
		{"passphrase of 44 that is not base64", strings.Repeat("cook ", 8) + "rice", false, false},
		{"letters beyond ASCII", "jiko safi, ndiyo é", false, false},
		{"11 characters", "eleven char", false, true},
		{"empty", "", false, true},
		{"not UTF-8", "\xff\xfe\xfd twelve or more", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k, err := ParseKey(tt.text)
			if (err != nil) != tt.bad {
				t.Fatalf("ParseKey() = %v, want an error: %v", err, tt.bad)
			}
			if tt.bad {
				if tt.text != "" && strings.Contains(err.Error(), tt.text) {
					t.Errorf("the error repeats the key: %v", err)
				}
				return
			}
			if same := k.id == newKey(raw).id; same != tt.same {
				t.Errorf("id = %s, the key of the bytes %s: same want %v", k.id, newKey(raw).id, tt.same)
			}
			again, err := ParseKey(tt.text)
			if err != nil || again.id != k.id || len(k.id) != 8 {
				t.Errorf("id = %q, then %q, %v; want 8 digits, the same each time", k.id, again.id, err)
			}
			if got, err := again.open("a", k.seal("a", "48291")); err != nil || string(got) != "48291" {
				t.Errorf("open() = %q, %v", got, err)
			}
		})
	}
}

func FuzzParseKey(f *testing.F) {
	for _, s := range []string{"", "0123456789abcdef0123456789abcdef", strings.Repeat("f0", 32), strings.Repeat("A", 43), "a passphrase"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw, ok := rawKey(text) // passphrases cost too much to fuzz
		if ok && len(raw) != keySize {
			t.Errorf("rawKey(%q) has %d bytes", text, len(raw))
		}
	})
}

func TestSealIsBoundToItsAccount(t *testing.T) {
	t.Parallel()
	one, other := newKey(bytes.Repeat([]byte{1}, 32)), newKey(bytes.Repeat([]byte{2}, 32))
	sealed := one.seal("a", "48291")
	if bytes.Equal(sealed, one.seal("a", "48291")) {
		t.Error("the same PIN sealed twice gives the same bytes")
	}
	changed := bytes.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"other account": func() ([]byte, error) { return one.open("b", sealed) },
		"other key":     func() ([]byte, error) { return other.open("a", sealed) },
		"changed":       func() ([]byte, error) { return one.open("a", changed) },
		"short":         func() ([]byte, error) { return one.open("a", []byte("x")) },
		"nothing":       func() ([]byte, error) { return one.open("a", nil) },
	} {
		if got, err := open(); err == nil {
			t.Errorf("%s: open() = %q, want a refusal", name, got)
		}
	}
}

// The values were computed with the crypto module of node from the description
// of the form alone.
func TestLegacyVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/legacy.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct{ Key, PIN, Encrypted string }
	if err := json.Unmarshal(text, &vectors, json.MatchCaseInsensitiveNames(true)); err != nil || len(vectors) < 20 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	for _, v := range vectors {
		l, err := newLegacy(v.Key)
		if err != nil {
			t.Fatal(err)
		}
		if block := l.encrypt(v.PIN); base64.StdEncoding.EncodeToString(block[:]) != v.Encrypted {
			t.Errorf("encrypt(%s) under %q = %x, want %s", v.PIN, v.Key, block, v.Encrypted)
		}
		if !l.verify(v.Encrypted, v.PIN) {
			t.Errorf("verify(%s) under %q = false", v.PIN, v.Key)
		}
		if l.verify(v.Encrypted, "10000") || l.verify(v.Encrypted, "") || l.verify("", v.PIN) {
			t.Errorf("verify() takes a wrong PIN under %q", v.Key)
		}
	}
	l, err := newLegacy(vectors[0].Key)
	if err != nil {
		t.Fatal(err)
	}
	block, err := decodeLegacy(vectors[0].Encrypted)
	if got := l.table()[block]; err != nil || got != vectors[0].PIN {
		t.Errorf("table() gives %q, %v; want %s", got, err, vectors[0].PIN)
	}
	if block, err = decodeLegacy(vectors[2].Encrypted); err != nil || !l.made(block) {
		t.Errorf("made() of a PIN of 4 digits = false, %v", err)
	}
}

func FuzzLegacy(f *testing.F) {
	for _, s := range []string{"5b/kiSF7Z/wm6HGVJmf0IA==", "", "AAAA", "5b/kiSF7Z/wm6HGVJmf0IA=", "5b/kiSF7Z/wm6HGVJm\nf0IA=="} {
		f.Add(s, "48291")
	}
	l, err := newLegacy("0123456789abcdef0123456789abcdef")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, stored, pin string) {
		block, err := decodeLegacy(stored)
		if err == nil && base64.StdEncoding.EncodeToString(block[:]) != stored {
			t.Errorf("decodeLegacy(%q) takes a second spelling", stored)
		}
		if l.verify(stored, pin) && err != nil {
			t.Errorf("verify(%q, %q) takes what does not decode", stored, pin)
		}
	})
}

func TestWeak(t *testing.T) {
	t.Parallel()
	for pin, want := range map[string]weakness{
		"00000": weakSame, "11111": weakSame, "22222": weakSame, "33333": weakSame, "44444": weakSame, "55555": weakSame,
		"66666": weakSame, "77777": weakSame, "88888": weakSame, "99999": weakSame, "12345": weakRun, "54321": weakRun,
		"34567": weakRun, "78901": weakRun, "90123": weakRun, "10987": weakRun, "43210": weakRun,
		"12121": weakRepeat, "90909": weakRepeat, "08080": weakRepeat,
		"56789": weakRun, "41287": weakPhone,
		"48291": "", "12354": "", "11222": "", "12321": "", "01990": "", "13579": "", "12845": "", "41286": "",
	} {
		if got := weak(pin, "+254700141287"); got != want {
			t.Errorf("weak(%s) = %q, want %q", pin, got, want)
		}
	}
	refused := 0
	for n := range pinCount {
		pin := string([]byte{byte('0' + n/10000), byte('0' + n/1000%10), byte('0' + n/100%10), byte('0' + n/10%10), byte('0' + n%10)})
		if weak(pin, "") != "" {
			refused++
		}
	}
	if refused != 10+20+90 {
		t.Errorf("%d PINs are refused, want 120: 10 of one digit, 20 runs, 90 of two digits in turn", refused)
	}
	for range 200 {
		if pin := newPIN("+254700141287"); !isPIN(pin) || weak(pin, "+254700141287") != "" {
			t.Errorf("newPIN() = %s", pin)
		}
	}
}

func TestLocks(t *testing.T) {
	t.Parallel()
	start := time.UnixMilli(1_800_000_000_000)
	minutes := map[int64]int64{3: 15, 6: 30}
	var l lock
	for n := int64(1); n <= 9; n++ {
		now := start.Add(time.Duration(n) * time.Hour)
		l = l.fail(now)
		switch {
		case l.wrong != n:
			t.Errorf("after %d tries wrong = %d", n, l.wrong)
		case l.blocked() != (n == 9):
			t.Errorf("after %d tries blocked = %v", n, l.blocked())
		case n < 9 && l.closed(now) != (minutes[n] > 0):
			t.Errorf("after %d tries closed = %v, want %v", n, l.closed(now), minutes[n] > 0)
		}
		if m := minutes[n]; m > 0 {
			if got := l.minutes(now); got != m {
				t.Errorf("after %d tries closed for %d minutes, want %d", n, got, m)
			}
			if end := now.Add(time.Duration(m) * time.Minute); l.closed(end) || !l.closed(end.Add(-time.Millisecond)) {
				t.Errorf("after %d tries it does not open after %d minutes", n, m)
			}
		}
	}
	if far := start.AddDate(100, 0, 0); !l.closed(far) || !l.faded(far).blocked() {
		t.Error("a block ends by itself")
	}
}

func TestNumberLock(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_800_000_000_000)
	at := now.UnixMilli()
	for _, tt := range []struct {
		name string
		got  lock
		want lock
	}{
		{"slips on the account are taken back", lock{wrong: 2, last: at}.without(lock{wrong: 2}), lock{last: at}},
		{"tries on others stay", lock{wrong: 5, last: at}.without(lock{wrong: 1}), lock{wrong: 4, last: at}},
		{"never below none", lock{wrong: 1, last: at}.without(lock{wrong: 4}), lock{last: at}},
		{"a lock that slips led to opens", lock{wrong: 3, until: at + 9, last: at}.without(lock{wrong: 3}), lock{last: at}},
		{"a block stays", lock{wrong: 9, until: forever, last: at}.without(lock{wrong: 9}), lock{until: forever, last: at}},
		{"tries of yesterday fade", lock{wrong: 2, last: at - 86_400_001}.faded(now), lock{}},
		{"tries of today stay", lock{wrong: 2, last: at - 86_399_999}.faded(now), lock{wrong: 2, last: at - 86_399_999}},
		{"a block does not fade", lock{wrong: 9, until: forever}.faded(now), lock{wrong: 9, until: forever}},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, tt.got, tt.want)
		}
	}
}

func TestCustomerID(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		id := newCustomerID()
		if seen[id] || customerID(strings.ToLower(id)) != id || len(id) != 9 || strings.ContainsAny(id[1:], "01OILU") {
			t.Fatalf("newCustomerID() = %q", id)
		}
		seen[id] = true
	}
	for in, want := range map[string]string{
		"c1a2b3c4d": "C1A2B3C4D", " C1A2B3C4D ": "C1A2B3C4D", "C1234567": "", "D12345678": "", "C12345678*": "", "C12345678901234567890": "", "": "",
	} {
		if got := customerID(in); got != want {
			t.Errorf("customerID(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestImportFields(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"eng": "en", "swa": "sw", "": "en", "SW": "sw", "fra": "fr", "por": "pt", "klingon": "en", "x1": "en"} {
		if got := importLanguage(in); got != want {
			t.Errorf("importLanguage(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"254700000001": "+254700000001", "+254 700 000 001": "+254700000001", "": "", "0700000001": "0700000001"} {
		if got := importPhone(in); got != want {
			t.Errorf("importPhone(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzImport(f *testing.F) {
	const head = "customer_id,full_name,email,phone,encrypted_pin,preferred_language\n"
	f.Add(head + "CA1B2C3D4,Amina,,+254700000001,5b/kiSF7Z/wm6HGVJmf0IA==,eng\n")
	f.Add("\ufeff" + head + "C,\n\"")
	s, err := New(Config{PINKey: "0123456789abcdef0123456789abcdef"})
	if err != nil {
		f.Fatal(err)
	}
	pins := s.legacy.table()
	f.Fuzz(func(t *testing.T, file string) {
		in, err := newImport(s, strings.NewReader(file))
		if err != nil {
			return
		}
		in.pins = pins
		for err == nil {
			var rows []*row
			rows, err = in.chunk()
			for _, r := range rows {
				if !customerForm.MatchString(r.customer) || r.phone != "" && !phoneForm.MatchString(r.phone) || r.pin != nil && r.pinLegacy != "" {
					t.Errorf("row = %+v", r)
				}
			}
		}
	})
}

// TestExampleIDs has in the shipped packs only Customer IDs that this server
// could have issued.
func TestExampleIDs(t *testing.T) {
	t.Parallel()
	for _, name := range menu.Shipped() {
		source, err := menu.Source(name)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`Example: (C\w+)`).FindAllStringSubmatch(string(source), -1)
		if len(found) == 0 {
			t.Errorf("%s has no example", name)
		}
		for _, m := range found {
			if id := m[1]; len(id) != len(newCustomerID()) || strings.Trim(id[1:], idLetters) != "" {
				t.Errorf("%s has the example %s, which is never issued", name, id)
			}
		}
	}
}
