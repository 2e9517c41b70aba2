package ucan_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/ucan/codec"
)

// members are those of a good token, as they are decoded.
func members(t *testing.T) map[string]any {
	t.Helper()
	token, err := ucan.Parse(loadGolden(t).token(t, "inv_didkey"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := codec.DecodeCBOR(blockOf(t, token))
	if err != nil {
		t.Fatal(err)
	}
	return codec.Plain(v).(map[string]any)
}

func TestParseRefusesMembers(t *testing.T) {
	t.Parallel()
	capability := func(c any) func(m map[string]any) { return func(m map[string]any) { m["att"] = []any{c} } }
	set := func(key string, v any) func(m map[string]any) { return func(m map[string]any) { m[key] = v } }
	for _, tt := range []struct {
		name   string
		change func(m map[string]any)
		ok     bool
	}{
		{"none", func(map[string]any) {}, true},
		{"version", set("v", "0.10.0"), false},
		{"no version", func(m map[string]any) { delete(m, "v") }, false},
		{"no exp", func(m map[string]any) { delete(m, "exp") }, false},
		{"exp null", set("exp", nil), true},
		{"exp negative", set("exp", -1), false},
		{"exp text", set("exp", "1"), false},
		{"exp beyond JavaScript", set("exp", int64(1)<<53), false},
		{"no proofs", func(m map[string]any) { delete(m, "prf") }, false},
		{"proofs no list", set("prf", map[string]any{}), false},
		{"proof as text", set("prf", []any{"bafy"}), false},
		{"issuer as text", set("iss", "did:key:z6Mk"), false},
		{"issuer empty", set("iss", []byte{}), false},
		{"issuer key too short", set("iss", []byte("\xed\x01short")), false},
		{"issuer did:key as text", set("iss", []byte("\x9d\x1akey:z6Mkon3Necd6NkkyfoGoHxid2znGc59LU3K7mubaRcFbLfLX")), false},
		{"issuer with blanks", set("iss", []byte("\x9d\x1aixo:a b")), false},
		{"issuer with a fragment", set("iss", []byte("\x9d\x1aixo:a#key")), false},
		{"issuer not UTF-8", set("iss", []byte("\x9d\x1aixo:\xff")), false},
		{"issuer ixo", set("iss", []byte("\x9d\x1aixo:a")), true},
		{"signature of another algorithm", set("s", append([]byte("\x85\x24\x40\x00"), make([]byte, 64)...)), false},
		{"signature too long", set("s", append([]byte("\xed\xa1\x03\x40"), make([]byte, 65)...)), false},
		{"signature empty", set("s", []byte{}), false},
		{"nonce", set("nnc", "n"), true},
		{"nonce empty", set("nnc", ""), false},
		{"nbf zero", set("nbf", 0), false},
		{"nbf null", set("nbf", nil), false},
		{"facts empty", set("fct", []any{}), false},
		{"facts null", set("fct", nil), false},
		{"fact no map", set("fct", []any{1}), false},
		{"unknown member", set("x", 1), false},
		{"no capabilities", set("att", []any{}), false},
		{"capability no map", capability("*"), false},
		{"capability without can", capability(map[string]any{"with": "ixo:x"}), false},
		{"capability without with", capability(map[string]any{"can": "*"}), false},
		{"capability with more", capability(map[string]any{"can": "*", "with": "ixo:x", "y": 1}), false},
		{"nb null", capability(map[string]any{"can": "*", "with": "ixo:x", "nb": nil}), false},
		{"nb a list", capability(map[string]any{"can": "*", "with": "ixo:x", "nb": []any{}}), false},
		{"nb empty", capability(map[string]any{"can": "*", "with": "ixo:x", "nb": map[string]any{}}), true},
		{"can of one letter", capability(map[string]any{"can": "a", "with": "ixo:x"}), false},
		{"can begins with a slash", capability(map[string]any{"can": "/a", "with": "ixo:x"}), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := members(t)
			tt.change(m)
			v, err := codec.From(m)
			if err != nil {
				t.Fatal(err)
			}
			block, err := codec.EncodeCBOR(v)
			if err != nil {
				t.Fatal(err)
			}
			_, err = ucan.Parse(pack(t, block, false))
			if (err == nil) != tt.ok || !tt.ok && ucan.KindOf(err) != ucan.Malformed {
				t.Errorf("Parse() = %v, want ok %v", err, tt.ok)
			}
		})
	}
}

func TestParseRefusesJWT(t *testing.T) {
	t.Parallel()
	g := loadGolden(t)
	token, err := ucan.Parse(g.token(t, "inv_car_with_jwt"))
	if err != nil {
		t.Fatal(err)
	}
	good := string(blockOf(t, token))
	head, rest, _ := strings.Cut(good, ".")
	body, sig, _ := strings.Cut(rest, ".")
	payload, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		t.Fatal(err)
	}
	with := func(old, replace string) string {
		return head + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(payload), old, replace, 1))) + "." + sig
	}
	other := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT","ucv":"0.9.1"}`))
	for name, jwt := range map[string]string{
		"empty":             "",
		"two parts":         head + "." + body,
		"four parts":        good + ".x",
		"header":            other + "." + body + "." + sig,
		"padding":           good + "==",
		"no signature":      head + "." + body + ".",
		"blanks":            with(`{"att"`, `{ "att"`),
		"order":             with(`{"att":[{"can":"*","with":"ixo:oracle"}]`, `{"att":[{"with":"ixo:oracle","can":"*"}]`),
		"capitals":          with(`"can":"*"`, `"can":"Memory/READ"`),
		"escape":            with(`ixo:oracle`, `\u0069xo:oracle`),
		"a key twice":       with(`"prf":[]`, `"prf":[],"prf":[]`),
		"version inside":    with(`"prf":[]`, `"prf":[],"v":"0.9.1"`),
		"signature inside":  with(`"prf":[]`, `"prf":[],"s":{"/":{"bytes":"AA"}}`),
		"proof no CID":      with(`"prf":[]`, `"prf":["x"]`),
		"list":              head + "." + base64.RawURLEncoding.EncodeToString([]byte("[]")) + "." + sig,
		"reserved key":      with(`"prf":[]`, `"fct":[{"/":{}}],"prf":[]`),
		"float for integer": with(`"exp":1893456600`, `"exp":1893456600.0`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if jwt == good {
				t.Fatal("the case changes nothing")
			}
			if _, err := ucan.Parse(pack(t, []byte(jwt), true)); ucan.KindOf(err) != ucan.Malformed {
				t.Errorf("Parse() = %v, want %s", err, ucan.Malformed)
			}
		})
	}
}

func TestParseRefusesArchives(t *testing.T) {
	t.Parallel()
	good, err := codec.DecodeText(loadGolden(t).token(t, "inv_didkey"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := codec.DecodeCAR(good)
	if err != nil {
		t.Fatal(err)
	}
	leaf := a.Blocks[0]
	block := func(v any) codec.Block {
		b, err := codec.EncodeCBOR(v)
		if err != nil {
			t.Fatal(err)
		}
		return codec.Block{CID: codec.Sum(codec.DagCBOR, b), Data: b}
	}
	for name, root := range map[string]codec.Block{
		"other version":  block(codec.Map{{Key: "ucan@1.0.0", Value: leaf.CID}}),
		"two members":    block(codec.Map{{Key: "x", Value: int64(1)}, {Key: "ucan@0.9.1", Value: leaf.CID}}),
		"no link":        block(codec.Map{{Key: "ucan@0.9.1", Value: "x"}}),
		"link to absent": block(codec.Map{{Key: "ucan@0.9.1", Value: codec.Sum(codec.DagCBOR, []byte("x"))}}),
		"link to itself": leaf,
		"no map":         block("ucan"),
	} {
		bent := codec.Archive{Root: root.CID, Blocks: []codec.Block{leaf, root}}
		raw, err := bent.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ucan.Parse(base64.StdEncoding.EncodeToString(raw)); ucan.KindOf(err) != ucan.Malformed {
			t.Errorf("%s: Parse() = %v, want %s", name, err, ucan.Malformed)
		}
	}
}
