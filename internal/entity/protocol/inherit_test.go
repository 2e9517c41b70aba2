package protocol_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

func TestInheritance(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		e.publish(t, "ws", `{"did":"did:ixo:protocol/base","domainType":"asset","appliesTo":["A"],"required":["serial"],"pii":["owner"],
			"properties":{"serial":{"type":"string","indexed":true},"owner":"string","size":"number"},
			"relationships":{"maker":"OrganisationEntity","site":{"class":"ProjectEntity","min":0}},"claimTypes":{"x":{"a":1},"y":{}},"services":[{"id":"#a","type":"T","endpoint":"https://example.org"}]}`)
		p := e.publish(t, "ws", `{"did":"did:ixo:protocol/child","extends":"did:ixo:protocol/base","required":["size"],
			"properties":{"size":"integer","owner":"did","extra":{"type":"boolean","indexed":true}},"relationships":{"site":"HouseholdEntity"},"claimTypes":{"x":{"b":2}}}`)
		if p.Content.ExtendsVersion != "1.0.0" {
			t.Errorf("pinned to %q, want 1.0.0", p.Content.ExtendsVersion)
		}
		if p.Class() != "physical" || p.DomainType() != "asset" || !p.Fits("A") || p.Fits("B") {
			t.Errorf("class %s, domain type %s, Fits(A) %v, Fits(B) %v", p.Class(), p.DomainType(), p.Fits("A"), p.Fits("B"))
		}
		got := fmt.Sprint(p.Names(), p.Indexed(), p.PII(), p.Roles())
		want := "[extra owner serial size] [{extra boolean} {serial text}] [owner] [{maker OrganisationEntity 1 0 active} {site HouseholdEntity 1 0 active}]"
		if got != want {
			t.Errorf("inherited\n%s, want\n%s", got, want)
		}
		if got := codes(p.Check(decode(t, `{"size":1.5,"owner":"me"}`))); got != "/properties/owner invalid_format, /properties/serial required, /properties/size wrong_type" {
			t.Errorf("Check = %s", got)
		}
		if !p.Extends("did:ixo:protocol/base") || !p.Extends(p.DID) || p.Extends("did:ixo:protocol/template") {
			t.Error("Extends does not know the ancestors")
		}
		eff := p.Effective()
		if got := fmt.Sprint(eff.Required, eff.PII, eff.Indexed, string(eff.ClaimTypes.Value), string(eff.Services.Value), *eff.AdditionalProperties); got != `[serial size] [owner] [extra serial]{"x":{"b":2},"y":{}}[{"id":"#a","type":"T","endpoint":"https://example.org"}]false` {
			t.Errorf("Effective = %s", got)
		}
		// The child stays as it is when the parent goes on, and takes the new
		// parent with its own next version.
		e.next(t, "ws", "did:ixo:protocol/base", `{"version":"2.0.0","properties":{"colour":"string"}}`)
		if p, err := e.s.Find(t.Context(), "ws", p.DID, ""); err != nil || p.Kind("colour") != "" {
			t.Errorf("a published child changed with its parent: %v", err)
		}
		e.next(t, "ws", p.DID, `{"version":"1.1.0"}`)
		if p, err := e.s.Find(t.Context(), "ws", p.DID, ""); err != nil || p.Kind("colour") != "string" || p.Content.ExtendsVersion != "2.0.0" {
			t.Errorf("the next version extends %v, %v", p.Content.ExtendsVersion, err)
		}
		// It may name the older one.
		e.next(t, "ws", p.DID, `{"version":"1.2.0","extendsVersion":"1.0.0"}`)
		if p, err := e.s.Find(t.Context(), "ws", p.DID, ""); err != nil || p.Kind("colour") != "" {
			t.Errorf("the pinned version has %v, %v", p.Names(), err)
		}
		// A parent that is retired later still carries its children.
		if _, err := e.s.Retire(owner(t, "ws"), "did:ixo:protocol/base", "", protocol.Change{Version: "2.0.0"}); err != nil {
			t.Fatal(err)
		}
		e.s.Flush()
		if _, err := e.s.Find(t.Context(), "ws", p.DID, "1.1.0"); err != nil {
			t.Errorf("a child of a retired version = %v", err)
		}
	})
}

func TestCircles(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		refused := func(what, code string, err error) {
			t.Helper()
			if fault.CodeOf(err) != code {
				t.Errorf("%s = %v %v, want %s", what, err, fields(err), code)
			}
		}
		at := func(name string) string { return "did:ixo:protocol/" + name }
		_, err := e.s.Create(owner(t, "ws"), draft(t, `{"did":"did:ixo:protocol/self","extends":"did:ixo:protocol/self"}`))
		refused("itself", "PROTOCOL_CYCLE", err)

		// Drafts that wait for each other.
		e.create(t, "ws", `{"did":"did:ixo:protocol/a","extends":"did:ixo:protocol/b"}`)
		_, err = e.s.Publish(owner(t, "ws"), at("a"), "", protocol.Change{})
		refused("a parent that is missing", "PROTOCOL_INVALID", err)
		_, err = e.s.Create(owner(t, "ws"), draft(t, `{"did":"did:ixo:protocol/b","extends":"did:ixo:protocol/a"}`))
		refused("a circle of drafts", "PROTOCOL_CYCLE", err)
		e.create(t, "ws", `{"did":"did:ixo:protocol/b"}`)
		_, err = e.s.Publish(owner(t, "ws"), at("a"), "", protocol.Change{})
		refused("a parent that is a draft", "PROTOCOL_NOT_PUBLISHED", err)
		_, err = e.s.Update(owner(t, "ws"), at("b"), "", "*", []byte(`{"extends":"did:ixo:protocol/a"}`))
		refused("a draft changed into a circle", "PROTOCOL_CYCLE", err)
		e.release(t, "ws", at("b"))
		e.release(t, "ws", at("a"))
		_, err = e.s.AddVersion(owner(t, "ws"), at("b"), []byte(`{"version":"2.0.0","extends":"did:ixo:protocol/a"}`))
		refused("a new version into a circle", "PROTOCOL_CYCLE", err)

		// Of another workspace it does not exist.
		e.create(t, "other", `{"did":"did:ixo:protocol/c","extends":"did:ixo:protocol/b"}`)
		_, err = e.s.Publish(owner(t, "other"), at("c"), "", protocol.Change{})
		refused("a parent of another workspace", "PROTOCOL_INVALID", err)

		// Ten ancestors, and no more.
		e.publish(t, "deep", `{"did":"did:ixo:protocol/p0","properties":{"p0":"string"}}`)
		for i := range 10 {
			p := e.publish(t, "deep", fmt.Sprintf(`{"did":"did:ixo:protocol/p%d","extends":"did:ixo:protocol/p%d","properties":{"p%d":"string"}}`, i+1, i, i+1))
			if len(p.Names()) != i+2 {
				t.Errorf("%d ancestors give %v", i+1, p.Names())
			}
		}
		_, err = e.s.Create(owner(t, "deep"), draft(t, `{"did":"did:ixo:protocol/p11","extends":"did:ixo:protocol/p10"}`))
		refused("eleven ancestors", "PROTOCOL_INVALID", err)
		_, err = e.s.AddVersion(owner(t, "deep"), at("p0"), []byte(`{"version":"2.0.0","extends":"did:ixo:protocol/p10"}`))
		refused("a long circle", "PROTOCOL_CYCLE", err)
		_, err = e.s.AddVersion(owner(t, "deep"), at("p0"), []byte(`{"version":"2.0.0","extends":"did:ixo:protocol/p9"}`))
		refused("a circle one shorter", "PROTOCOL_CYCLE", err)

		// All versions have one class.
		e.publish(t, "class", `{"did":"did:ixo:protocol/k","class":"oracle"}`)
		if _, err = e.s.AddVersion(owner(t, "class"), at("k"), []byte(`{"version":"2.0.0","class":"physical","domainType":"device"}`)); err != nil {
			t.Fatal(err)
		}
		_, err = e.s.Publish(owner(t, "class"), at("k"), "", protocol.Change{})
		refused("another class", "PROTOCOL_INVALID", err)
	})
}

func TestDiff(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.SQLite(t))
	for name, c := range map[string]struct{ from, patch, want string }{
		"nothing":               {`{"properties":{"a":"string"}}`, `{}`, "none"},
		"name":                  {`{"name":"A"}`, `{"name":"B"}`, "patch /name changed"},
		"property added":        {`{}`, `{"properties":{"a":"string"}}`, "minor /properties/a added"},
		"property removed":      {`{"properties":{"a":"string"}}`, `{"properties":{"a":null}}`, "major /properties/a removed!"},
		"removed but open":      {`{"additionalProperties":true,"properties":{"a":"string"}}`, `{"properties":{"a":null}}`, "minor /properties/a removed"},
		"added to open":         {`{"additionalProperties":true}`, `{"properties":{"a":"string"}}`, "major /properties/a added!"},
		"integer to number":     {`{"properties":{"a":"integer"}}`, `{"properties":{"a":"number"}}`, "minor /properties/a changed"},
		"number to integer":     {`{"properties":{"a":"number"}}`, `{"properties":{"a":"integer"}}`, "major /properties/a changed!"},
		"date to string":        {`{"properties":{"a":"date"}}`, `{"properties":{"a":"string"}}`, "minor /properties/a changed"},
		"string to date":        {`{"properties":{"a":"string"}}`, `{"properties":{"a":"date"}}`, "major /properties/a changed!"},
		"another type":          {`{"properties":{"a":"string"}}`, `{"properties":{"a":"boolean"}}`, "major /properties/a changed!"},
		"same in long":          {`{"properties":{"a":"string"}}`, `{"properties":{"a":{"type":"string","title":"A"}}}`, "minor /properties/a changed"},
		"enum more":             {`{"properties":{"a":{"enum":["x"]}}}`, `{"properties":{"a":{"enum":["x","y"]}}}`, "minor /properties/a changed"},
		"enum less":             {`{"properties":{"a":{"enum":["x","y"]}}}`, `{"properties":{"a":{"enum":["x"]}}}`, "major /properties/a changed!"},
		"bound lower":           {`{"properties":{"a":{"type":"number","minimum":5}}}`, `{"properties":{"a":{"minimum":1}}}`, "minor /properties/a changed"},
		"bound higher":          {`{"properties":{"a":{"type":"number","minimum":5}}}`, `{"properties":{"a":{"minimum":6}}}`, "major /properties/a changed!"},
		"bound gone":            {`{"properties":{"a":{"type":"string","maxLength":5}}}`, `{"properties":{"a":{"maxLength":null}}}`, "minor /properties/a changed"},
		"bound new":             {`{"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"maxLength":5}}}`, "major /properties/a changed!"},
		"pattern new":           {`{"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"pattern":"x"}}}`, "major /properties/a changed!"},
		"unit":                  {`{"properties":{"a":{"type":"number","unit":"kg"}}}`, `{"properties":{"a":{"unit":"t"}}}`, "major /properties/a changed!"},
		"member added":          {`{"properties":{"a":{"type":"object","properties":{},"additionalProperties":false}}}`, `{"properties":{"a":{"properties":{"x":{"type":"string"}}}}}`, "minor /properties/a changed"},
		"member restricted":     {`{"properties":{"a":{"type":"object"}}}`, `{"properties":{"a":{"properties":{"x":{"type":"string"}}}}}`, "major /properties/a changed!"},
		"member required":       {`{"properties":{"a":{"type":"object","required":["x"]}}}`, `{"properties":{"a":{"required":["x","y"]}}}`, "major /properties/a changed!"},
		"member closed":         {`{"properties":{"a":{"type":"object"}}}`, `{"properties":{"a":{"additionalProperties":false}}}`, "major /properties/a changed!"},
		"items wider":           {`{"properties":{"a":{"type":"array","items":{"type":"integer"}}}}`, `{"properties":{"a":{"items":{"type":"number"}}}}`, "minor /properties/a changed"},
		"items narrower":        {`{"properties":{"a":{"type":"array","items":{"type":"number"}}}}`, `{"properties":{"a":{"items":{"type":"integer"}}}}`, "major /properties/a changed!"},
		"other rules":           {`{"properties":{"a":{"not":{"const":1}}}}`, `{"properties":{"a":{"not":{"const":2}}}}`, "major /properties/a changed!"},
		"required":              {`{"properties":{"a":"string"}}`, `{"required":["a"]}`, "major /required added!"},
		"required no more":      {`{"properties":{"a":"string"},"required":["a"]}`, `{"required":null}`, "minor /required removed"},
		"open":                  {`{}`, `{"additionalProperties":true}`, "minor /additionalProperties changed"},
		"closed":                {`{"additionalProperties":true}`, `{"additionalProperties":false}`, "major /additionalProperties changed!"},
		"role added":            {`{}`, `{"relationships":{"a":{"class":"Entity","min":0}}}`, "minor /relationships/a added"},
		"role needed":           {`{}`, `{"relationships":{"a":"OracleEntity"}}`, "major /relationships/a added!"},
		"role removed":          {`{"relationships":{"a":"OracleEntity"}}`, `{"relationships":{"a":null}}`, "major /relationships/a removed!"},
		"role respelled":        {`{"relationships":{"a":"OrganisationEntity"}}`, `{"relationships":{"a":"OrganizationEntity"}}`, "minor /relationships/a changed"},
		"role of another class": {`{"relationships":{"a":"OracleEntity"}}`, `{"relationships":{"a":"GroupEntity"}}`, "major /relationships/a changed!"},
		"role of any class":     {`{"relationships":{"a":"OracleEntity"}}`, `{"relationships":{"a":"Entity"}}`, "minor /relationships/a changed"},
		"role more":             {`{"relationships":{"a":"OracleEntity"}}`, `{"relationships":{"a":{"class":"OracleEntity","min":2}}}`, "major /relationships/a changed!"},
		"role fewer":            {`{"relationships":{"a":"OracleEntity"}}`, `{"relationships":{"a":{"class":"OracleEntity","max":2}}}`, "major /relationships/a changed!"},
		"role later":            {`{"relationships":{"a":"OracleEntity"}}`, `{"relationships":{"a":{"class":"OracleEntity","requiredFor":"claims"}}}`, "minor /relationships/a changed"},
		"types fewer":           {`{"appliesTo":["A","B"]}`, `{"appliesTo":["A"]}`, "major /appliesTo changed!"},
		"types more":            {`{"appliesTo":["A"]}`, `{"appliesTo":["A","B"]}`, "minor /appliesTo changed"},
		"types all":             {`{"appliesTo":["A"]}`, `{"appliesTo":null}`, "minor /appliesTo removed"},
		"indexed":               {`{"properties":{"a":"string"}}`, `{"indexed":["a"]}`, "minor /indexed added"},
		"claim type removed":    {`{"claimTypes":{"a":{},"b":{}}}`, `{"claimTypes":{"a":null}}`, "major /claimTypes/a removed!"},
		"inherited":             {`{}`, `{"extends":"did:ixo:protocol/network"}`, "minor /extends added, /properties/description added, /properties/name added"},
	} {
		id := e.create(t, "ws", c.from)
		patch := strings.Replace(strings.Replace(c.patch, "{", `{"version":"2.0.0",`, 1), ",}", "}", 1)
		if _, err := e.s.AddVersion(owner(t, "ws"), id, []byte(patch)); err != nil {
			t.Errorf("%s: %v %v", name, err, fields(err))
			continue
		}
		diff, err := e.s.Diff(owner(t, "ws"), id, "", "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var out []string
		for _, ch := range diff.Changes {
			mark := ""
			if ch.Breaking != (ch.Why != "") {
				t.Errorf("%s: breaking %v because %q", name, ch.Breaking, ch.Why)
			}
			if ch.Breaking {
				mark = "!"
			}
			out = append(out, ch.Pointer+" "+ch.Change+mark)
		}
		got := strings.TrimSpace(diff.Suggested + " " + strings.Join(out, ", "))
		if got != c.want || diff.Compatible != (diff.Suggested != "major") || diff.From != "1.0.0" || diff.To != "2.0.0" {
			t.Errorf("%s: %s (compatible %v), want %s", name, got, diff.Compatible, c.want)
		}
		if _, err := json.Marshal(diff); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
