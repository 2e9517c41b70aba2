package protocol_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// nested repeats a piece around a core.
func nested(open, core, shut string, n int) string {
	return strings.Repeat(open, n) + core + strings.Repeat(shut, n)
}

// doubling is a chain of references each of which is used twice: small to
// write, 2^n to run.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"string"}}}`, n)
	return b.String()
}

// What would be slow, huge, or reach outside is refused with a name, quickly.
func TestHostileSchemas(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.SQLite(t))
	for name, c := range map[string]struct{ schema, want string }{
		"remote reference":       {`{"$ref":"https://example.org/schema.json"}`, "/$ref remote_reference"},
		"file reference":         {`{"$ref":"file:///etc/passwd"}`, "/$ref remote_reference"},
		"reference to the root":  {`{"$ref":"#"}`, "/$ref remote_reference"},
		"metaschema":             {`{"items":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}`, "/items/$ref remote_reference"},
		"dangling reference":     {`{"$ref":"#/$defs/x"}`, "/$ref dangling_reference"},
		"reference to a value":   {`{"$ref":"#/default","default":{"pattern":"("}}`, "/$ref dangling_reference"},
		"recursion":              {`{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"items":{"$ref":"#/$defs/x"}}}}`, "/$defs/x recursive"},
		"recursion to the whole": {`{"properties":{"a":{"properties":{"b":{"$ref":"#/properties/a"}}}}}`, "/properties/a recursive"},
		"doubling":               {doubling(30), " too_complex"},
		"base of its own":        {`{"$id":"https://example.org/"}`, "/$id unknown_keyword"},
		"anchors":                {`{"$anchor":"a","$dynamicRef":"#a"}`, "/$anchor unknown_keyword, /$dynamicRef unknown_keyword"},
		"other dialect":          {`{"$schema":"http://json-schema.org/draft-07/schema#"}`, "/$schema unsupported"},
		"inner dialect":          {`{"items":{"$schema":"https://json-schema.org/draft/2020-12/schema"}}`, "/items/$schema unsupported"},
		"typing mistake":         {`{"minumum":3}`, "/minumum unknown_keyword"},
		"content schema":         {`{"contentSchema":{}}`, "/contentSchema unknown_keyword"},
		"look-ahead":             {`{"pattern":"^(?=a)b"}`, "/pattern invalid_pattern"},
		"back reference":         {`{"pattern":"(a)\\1"}`, "/pattern invalid_pattern"},
		"broken pattern":         {`{"patternProperties":{"(":{}}}`, "/patternProperties/( invalid_pattern"},
		"long pattern":           {`{"pattern":"` + strings.Repeat("a", 513) + `"}`, "/pattern too_long"},
		"repeats of repeats":     {`{"pattern":"(([a-z]{10}){10}){10}"}`, "/pattern too_complex"},
		"repeats too many":       {`{"pattern":"(((a{1000}){1000}){1000}){1000}"}`, "/pattern invalid_pattern"},
		"pattern is no text":     {`{"pattern":5}`, "/pattern invalid_schema"},
		"deep":                   {nested(`{"items":`, `{}`, `}`, 16), " too_deep"},
		"deep value":             {`{"default":` + nested(`[`, ``, `]`, 20) + `}`, " too_deep"},
		"huge":                   {`{"description":"` + strings.Repeat("x", 17<<10) + `"}`, " too_large"},
		"many subschemas":        {`{"allOf":[` + strings.Repeat(`{},`, 600) + `{}]}`, " too_large"},
		"unknown type":           {`{"type":"text"}`, "/type unknown_type"},
		"type of the wrong type": {`{"type":5}`, "/type invalid_schema"},
		"unknown type in a list": {`{"type":["string","text"]}`, "/type invalid_schema"},
		"unknown format":         {`{"format":"colour"}`, "/format unknown_format"},
		"format regex":           {`{"format":"regex"}`, "/format unknown_format"},
		"two formats":            {`{"type":"date","format":"uri"}`, "/format conflict"},
		"indexed object":         {`{"type":"object","indexed":true}`, "/indexed not_scalar"},
		"indexed inside":         {`{"items":{"indexed":true}}`, "/items/indexed wrong_type"},
		"indexed by a word":      {`{"type":"string","indexed":"yes"}`, "/indexed wrong_type"},
		"negative length":        {`{"minLength":-1}`, "/minLength invalid_schema"},
		"schema is a number":     {`{"items":5}`, "/items wrong_type"},
		"list of schemas":        {`{"allOf":{}}`, "/allOf wrong_type"},
		"empty list":             {`{"anyOf":[]}`, "/anyOf wrong_type"},
		"members":                {`{"properties":[]}`, "/properties wrong_type"},
		"enormous number":        {`{"minimum":1e999}`, " invalid"},
		"number as a schema":     {`5`, " wrong_type"},
		"true as a schema":       {`true`, " wrong_type"},
		"null":                   {`null`, " wrong_type"},
		"type name":              {`"text"`, " unknown_type"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := e.s.Create(owner(t, "ws"), draft(t, `{"properties":{"p":`+c.schema+`}}`))
			got := strings.ReplaceAll(codes(fields(err)), "/properties/p", "")
			if fault.CodeOf(err) != "PROTOCOL_INVALID" || !strings.HasPrefix(got, strings.ReplaceAll(c.want, "/properties/p", "")) {
				t.Errorf("%v with %.300s, want %s", fault.CodeOf(err), got, c.want)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// What people write works, references and all.
func TestGoodSchemas(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.SQLite(t))
	for name, c := range map[string]struct{ schema, good, bad string }{
		"references": {
			`{"type":"object","properties":{"from":{"$ref":"#/$defs/place"},"to":{"$ref":"#/$defs/place"}},"$defs":{"place":{"type":"object","properties":{"at":{"type":"geo"}},"required":["at"]}}}`,
			`{"from":{"at":{"type":"Point","coordinates":[1,2]}}}`, `{"to":{"at":{"type":"Point"}}}`,
		},
		"reference beside":   {`{"properties":{"a":{"type":"integer"},"b":{"$ref":"#/properties/a"}}}`, `{"b":3}`, `{"b":"3"}`},
		"escaped reference":  {`{"$ref":"#/$defs/a~1b%20c","$defs":{"a/b c":{"type":"string"}}}`, `"x"`, `1`},
		"dialect":            {`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"string"}`, `"x"`, `1`},
		"types inside":       {`{"type":"array","items":{"type":"date"}}`, `["2026-08-01"]`, `["today"]`},
		"nullable":           {`{"type":["string","null"]}`, `null`, `1`},
		"free keywords":      {`{"type":"number","unit":"kg","x-widget":{"a":1},"title":"t","examples":[1]}`, `1`, `"1"`},
		"pattern properties": {`{"type":"object","patternProperties":{"^d[0-9]+$":{"type":"number"}},"additionalProperties":false}`, `{"d1":1}`, `{"x":1}`},
		"conditions":         {`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"maxProperties":0}}`, `{"a":1,"b":2}`, `{"a":1}`},
		"unevaluated":        {`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1}`, `{"b":1}`},
		"prefix":             {`{"type":"array","prefixItems":[{"type":"string"}],"items":false}`, `["a"]`, `["a",1]`},
		"contains":           {`{"type":"array","contains":{"const":1},"maxContains":1}`, `[1,2]`, `[1,1]`},
		"email":              {`{"type":"string","format":"email"}`, `"a@example.org"`, `"a"`},
		"characters":         {`{"type":"string","minLength":2,"maxLength":2}`, `"éé"`, `"é"`},
		"characters, longer": {`{"type":"string","maxLength":2}`, `"éé"`, `"ééé"`},
		"empty":              {`{}`, `[null]`, ``},
		"quantity and more":  {`{"type":"quantity","description":"d"}`, `{"value":1,"unit":"t"}`, `{"value":1}`},
	} {
		p := e.publish(t, "ws", `{"properties":{"p":`+c.schema+`}}`)
		if got := p.Check(decode(t, `{"p":`+c.good+`}`)); got != nil {
			t.Errorf("%s: %s refused: %v", name, c.good, got)
		}
		if c.bad != "" && p.Check(decode(t, `{"p":`+c.bad+`}`)) == nil {
			t.Errorf("%s: %s taken", name, c.bad)
		}
	}
}

func TestInvalidDrafts(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.SQLite(t))
	var many, nine, schemas strings.Builder
	for i := range 201 {
		fmt.Fprintf(&many, `"p%d":"string",`, i)
	}
	for i := range 9 {
		fmt.Fprintf(&nine, `"p%d":{"type":"string","indexed":true},`, i)
	}
	for i := range 6 {
		fmt.Fprintf(&schemas, `"p%d":{"allOf":[%s{}]},`, i, strings.Repeat(`{},`, 400))
	}
	for name, c := range map[string]struct{ draft, want string }{
		"type":            {`{"type":"Template"}`, "/type not_allowed"},
		"all at once":     {`{"did":"x","version":"1","class":"human","domainType":"ghost","extends":"y","name":"` + strings.Repeat("n", 201) + `"}`, "/did invalid, /version invalid, /name too_long, /class not_allowed, /domainType not_allowed, /extends invalid"},
		"property name":   {`{"properties":{"a.b":"string","1a":"string","":"string","ok":"string"}}`, "/properties/ invalid_name, /properties/1a invalid_name, /properties/a.b invalid_name"},
		"many properties": {`{"properties":{` + many.String() + `"x":"string"}}`, "/properties too_many"},
		"nine indexed":    {`{"properties":{` + nine.String() + `"x":"string"}}`, "/indexed too_many"},
		"schemas in all":  {`{"properties":{` + schemas.String() + `"x":"string"}}`, "/properties too_large"},
		"role names":      {`{"relationships":{"Verifier":"OracleEntity","a b":"OracleEntity"}}`, "/relationships/Verifier invalid_name, /relationships/a b invalid_name"},
		"class names":     {`{"relationships":{"a":"Oracle","b":{"class":"oracleEntity"},"c":5,"d":{"class":"OracleEntity","least":1},"e":{}}}`, "/relationships/a unknown_class, /relationships/b/class unknown_class, /relationships/c wrong_type, /relationships/d invalid, /relationships/e/class unknown_class"},
		"bounds":          {`{"relationships":{"a":{"class":"Entity","min":-1},"b":{"class":"Entity","min":3,"max":2},"c":{"class":"Entity","max":0},"d":{"class":"Entity","requiredFor":"fun"}}}`, "/relationships/a/min out_of_range, /relationships/b/max out_of_range, /relationships/c/max out_of_range, /relationships/d/requiredFor not_allowed"},
		"lists":           {`{"required":["a","b","a"],"indexed":["c"],"pii":["d"],"properties":{"a":"string","c":"object"}}`, "/required/1 unknown_property, /required/2 duplicate, /pii/0 unknown_property, /indexed/0 not_scalar"},
		"extras":          {`{"services":{},"claimTypes":[],"governance":"x","indicators":[` + nested("[", "", "]", 40) + `]}`, "/services wrong_type, /claimTypes wrong_type, /indicators too_deep, /governance wrong_type"},
		"no sense": {`{"class":"oracle","domainType":"organisation","properties":{"a":{"type":"string","enum":[]},"b":{"type":"string","minLength":5,"maxLength":2},
			"c":{"type":"number","minimum":9,"maximum":1},"d":{"type":"number","default":"x"},"e":{"type":"array","items":{"type":"number","exclusiveMinimum":3,"maximum":3}},
			"f":{"type":"string","default":"ok","maxLength":2}}}`, "/properties/a/enum empty, /properties/b/minLength out_of_range, /properties/c/minimum out_of_range, /properties/d/default invalid_default, " +
			"/properties/e/items/exclusiveMinimum out_of_range, /domainType conflict"},
		"services": {
			`{"services":[{"id":"data","type":"","endpoint":"nowhere"},"x",{"id":"#a","type":"T","endpoint":"https://a.example"},{"id":"#a","type":"T","endpoint":"https://a.example"}]}`,
			"/services/0/id invalid, /services/0/type required, /services/0/endpoint invalid, /services/1 wrong_type, /services/3/id duplicate",
		},
		"claim types": {
			`{"claimTypes":{"a":7,"b":{"schema":"string"},"c":{"schema":{"type":"strin"}},"d":{"schema":{"type":"object","required":7}},"e":{"verification":{"mode":"maybe","quorum":0,"oracles":["x","did:x:y"]}},
			"f":{"schema":{"type":"object","properties":{"n":{"minimum":2,"maximum":1}}},"verification":{"mode":"manual","quorum":2,"oracles":["did:x:y","did:x:z"],"reasonCodes":["a"],"rubric":[]}},"g":{"verification":{"quorum":1.5,"oracles":"did:x:y"}},
			"h":{"verification":{"mode":"auto","oracles":[],"reasonCodes":{}}},"i":{"verification":{"mode":"hybrid","quorum":2,"oracles":["did:x:y"],"reasonCodes":["",7]}},"j":{"verification":{"oracles":["did:x:y","did:x:y",7],"reasonCodes":["a",""]}}}}`,
			"/claimTypes/a wrong_type, /claimTypes/b/schema wrong_type, /claimTypes/c/schema/type unknown_type, /claimTypes/d/schema/required invalid_schema, " +
				"/claimTypes/e/verification/mode not_allowed, /claimTypes/e/verification/quorum out_of_range, /claimTypes/e/verification/oracles/0 invalid, " +
				"/claimTypes/f/schema/properties/n/minimum out_of_range, /claimTypes/g/verification/quorum out_of_range, /claimTypes/g/verification/oracles wrong_type, " +
				"/claimTypes/h/verification/rubric required, /claimTypes/h/verification/oracles empty, /claimTypes/h/verification/reasonCodes wrong_type, " +
				"/claimTypes/i/verification/rubric required, /claimTypes/i/verification/quorum out_of_range, /claimTypes/i/verification/reasonCodes wrong_type, " +
				"/claimTypes/j/verification/oracles/1 duplicate, /claimTypes/j/verification/oracles/2 invalid, /claimTypes/j/verification/reasonCodes/1 required",
		},
		"the rest": {
			`{"surveyTemplates":["a",{"id":"b"},{"id":7},8,""],"governance":{"approvals":-1}}`,
			"/surveyTemplates/2 wrong_type, /surveyTemplates/3 wrong_type, /surveyTemplates/4 wrong_type, /governance/approvals out_of_range",
		},
		"large extra":  {`{"claimTypes":{"a":"` + strings.Repeat("x", 65<<10) + `"}}`, "/claimTypes too_large"},
		"applies to":   {`{"appliesTo":["",` + strings.Repeat(`"x",`, 50) + `"x"]}`, "/appliesTo too_many, /appliesTo/0 invalid"},
		"long lists":   {`{"required":[` + strings.Repeat(`"a",`, 200_000) + `"a"]}`, "/required too_many"},
		"pinned alone": {`{"extendsVersion":"1.0.0"}`, "/extendsVersion invalid"},
		"pinned wrong": {`{"extends":"did:ixo:protocol/template","extendsVersion":"one"}`, "/extendsVersion invalid"},
		"pointers":     {`{"properties":{"a/b~":"string"}}`, "/properties/a~1b~0 invalid_name"},
	} {
		_, err := e.s.Create(owner(t, "ws"), draft(t, c.draft))
		if got := codes(fields(err)); fault.CodeOf(err) != "PROTOCOL_INVALID" || got != c.want {
			t.Errorf("%s: %v with %.500s, want %s", name, fault.CodeOf(err), got, c.want)
		}
	}
	// A record that is large in every part is too large as a whole.
	big := strings.Repeat("x", 60<<10)
	_, err := e.s.Create(owner(t, "ws"), draft(t, fmt.Sprintf(`{"claimTypes":{"a":{"x":%q}},"credentialTypes":{"a":%q},"governance":{"a":%q},"surveyTemplates":[%q],"indicators":[%q]}`, big, big, big, big, big)))
	if got := codes(fields(err)); got != " too_large" {
		t.Errorf("a record of 300 KiB = %v %s", fault.CodeOf(err), got)
	}
	// Never more than 100 faults.
	var wrong strings.Builder
	for i := range 150 {
		fmt.Fprintf(&wrong, `"p%d":"nothing",`, i)
	}
	_, err = e.s.Create(owner(t, "ws"), draft(t, `{"properties":{`+wrong.String()+`"x":"string"}}`))
	if got := len(fields(err)); got != 100 {
		t.Errorf("%d faults, want 100", got)
	}
}
