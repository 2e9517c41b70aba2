package web

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Document describes the routes of apis as OpenAPI 3.1. It is built from the
// table that serves, so the two cannot differ. We use huma for the document
// model and the schemas of Go types; routing, decoding and errors are ours.
func Document(title, version string, apis ...*API) *huma.OpenAPI {
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: title, Version: version, License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			Description: "Digital twins, household surveys, USSD and an oracle in one server. Lists are paged by cursor: follow hasMore, " +
				"a page may be short. Every answer carries X-Request-Id. [All error codes](/docs/errors), [all settings](/docs/configuration), [streams and sockets](/docs/events).",
		},
		Servers: []*huma.Server{{URL: "/", Description: "this server"}},
		Components: &huma.Components{
			Schemas: newRegistry(),
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"key":    {Type: "http", Scheme: "bearer", Description: "An API key: hearth keys create, or POST /v1/api-keys."},
				"header": {Type: "apiKey", In: "header", Name: "X-API-Key", Description: "The same key in a header of its own."},
				"ucan":   {Type: "apiKey", In: "header", Name: "x-ucan-delegation", Description: "A UCAN for this oracle: hearth ucan delegate. Programs send Authorization: Bearer <invocation> with X-Auth-Type: ucan instead."},
			},
		},
	}
	for _, a := range apis {
		for _, r := range a.routes {
			if r.Doc.Page {
				continue
			}
			if r.Doc.Channel {
				continue
			}
			if !slices.ContainsFunc(doc.Tags, func(t *huma.Tag) bool { return t.Name == r.Doc.Tag }) {
				doc.Tags = append(doc.Tags, &huma.Tag{Name: r.Doc.Tag})
			}
			doc.AddOperation(operation(doc.Components.Schemas, a, r))
		}
	}
	return doc
}

// schemaPrefix is where schemas stand in a document.
const schemaPrefix = "#/components/schemas/"

// newRegistry makes a registry of schemas. Any JSON is described as that, and
// not as the bytes it is kept in.
func newRegistry() huma.Registry {
	reg := huma.NewMapRegistry(schemaPrefix, schemaName)
	reg.RegisterTypeAlias(reflect.TypeFor[jsontext.Value](), reflect.TypeFor[any]())
	return reg
}

// DocumentJSON writes a document. Viewers open a body in its first media type:
// where there are several kinds of patch, that is the merge patch, which most
// people want and which has an example.
func DocumentJSON(doc *huma.OpenAPI) ([]byte, error) {
	text, err := doc.MarshalJSON()
	if err != nil {
		return nil, err
	}
	root, err := parseNode(text)
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	mergeFirst(root)
	var out bytes.Buffer
	if err := root.write(jsontext.NewEncoder(&out)); err != nil {
		return nil, fmt.Errorf("write the document: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// OlderDocument writes a document as OpenAPI 3.0, for tools that read only
// that.
func OlderDocument(doc *huma.OpenAPI) ([]byte, error) {
	text, err := doc.Downgrade()
	if err != nil {
		return nil, err
	}
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	all, _ := root.(map[string]any)
	if info, ok := all["info"].(map[string]any); ok {
		if licence, ok := info["license"].(map[string]any); ok {
			delete(licence, "identifier") // 3.0 has none
		}
	}
	nullsOut(root, all)
	return json.Marshal(root, json.Deterministic(true))
}

// nullsOut writes "this or null" in the form of 3.0, which has no type null, and
// requires a type beside nullable.
func nullsOut(n any, document map[string]any) {
	switch v := n.(type) {
	case []any:
		for _, one := range v {
			nullsOut(one, document)
		}
	case map[string]any:
		for _, one := range v {
			nullsOut(one, document)
		}
		either, _ := v["anyOf"].([]any)
		null := slices.IndexFunc(either, func(one any) bool {
			s, _ := one.(map[string]any)
			return s["type"] == "null"
		})
		if null >= 0 {
			delete(v, "anyOf")
			either = slices.Delete(either, null, null+1)
			v["allOf"], v["nullable"], v["type"] = either, true, typeOf(either[0], document)
		}
	}
}

// typeOf is the type of a schema, which may stand elsewhere in the document.
func typeOf(schema any, document map[string]any) any {
	s, _ := schema.(map[string]any)
	ref, _ := s["$ref"].(string)
	if name, ok := strings.CutPrefix(ref, schemaPrefix); ok {
		components, _ := document["components"].(map[string]any)
		schemas, _ := components["schemas"].(map[string]any)
		s, _ = schemas[name].(map[string]any)
	}
	if s["type"] == nil {
		return "object"
	}
	return s["type"]
}

// mergeFirst puts the merge patch first wherever it stands among media types.
func mergeFirst(n *node) {
	if !n.isObject() {
		return
	}
	if at := slices.IndexFunc(n.members, func(m member) bool { return m.name == mediaMergePatch }); at > 0 {
		m := n.members[at]
		n.members = slices.Insert(slices.Delete(n.members, at, at+1), 0, m)
	}
	for _, m := range n.members {
		mergeFirst(m.value)
	}
}

// named is a type whose schema has a name of its own: clients know it from
// before the type had another name or place.
type named interface{ SchemaName() string }

// schemaName puts the package before the type, so that two areas may each have
// a Draft: entity.Draft is EntityDraft, entity.Entity stays Entity, and so do
// the types of package api. The type parameter of Page is named the same way.
func schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer { // only the type it points to has a package
		t = t.Elem()
	}
	if n, ok := reflect.Zero(t).Interface().(named); ok {
		return n.SchemaName()
	}
	if outer, _, generic := strings.Cut(t.Name(), "["); generic && t.PkgPath() == reflect.TypeFor[PageInfo]().PkgPath() {
		items, _ := t.FieldByName("Items")
		return outer + schemaName(items.Type.Elem(), hint)
	}
	return prefixed(t.PkgPath(), huma.DefaultSchemaNamer(t, hint))
}

func prefixed(pkg, name string) string {
	pkg = path.Base(pkg)
	if name == "" || pkg == "." || pkg == "web" || pkg == "api" {
		return name
	}
	pkg = strings.ToUpper(pkg[:1]) + pkg[1:]
	if strings.HasPrefix(name, pkg) {
		return name
	}
	return pkg + name
}

var pathRest = regexp.MustCompile(`\{(\w+)\.\.\.\}`)

func operation(reg huma.Registry, a *API, r Route) *huma.Operation {
	url := strings.TrimSuffix(pathRest.ReplaceAllString(r.Path, "{$1}"), "{$}")
	op := &huma.Operation{
		Method: r.Method, Path: url, OperationID: operationID(r.Method, url),
		Summary: r.Doc.Summary, Description: describe(r.Doc), Tags: []string{r.Doc.Tag},
		Responses: map[string]*huma.Response{},
	}
	switch s := r.Doc.Scope; {
	case r.Doc.UCAN:
		op.Security = []map[string][]string{{"ucan": {}}}
	case s == Public:
		op.Extensions = map[string]any{"security": []any{}} // no authentication needed
	default:
		op.Security = []map[string][]string{{"key": {}}, {"header": {}}}
		op.Extensions = map[string]any{"x-scope": string(s)}
	}
	if r.In != nil {
		parameters(reg, op, r)
	}
	for _, q := range r.Doc.Query {
		in := "query"
		if q.Header {
			in = "header"
		}
		op.Parameters = append(op.Parameters, &huma.Param{Name: q.Name, In: in, Description: q.Doc, Schema: &huma.Schema{Type: "string"}, Example: example(q.Example)})
	}
	for _, name := range missingPath(op, url) {
		op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: "string"}})
	}
	if r.Doc.Consumes != "" {
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{}}
		for media := range strings.SplitSeq(r.Doc.Consumes, ",") {
			media = strings.TrimSpace(media)
			op.RequestBody.Content[media] = plainBody(reg, op, r.Doc, media)
		}
	}
	responses(reg, op, a, r)
	return op
}

func describe(d Doc) string {
	text := d.Description
	switch d.Scope {
	case Public:
	case Operator:
		text += "\n\nOperators only: a loopback peer, or the scope `operations:read`."
	case Signed:
		text += "\n\nAny valid key."
	default:
		text += "\n\nScope: `" + strings.Join(d.Scope.Names(), "` or `") + "`."
	}
	return strings.TrimSpace(text)
}

func example(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// operationID makes "get-v1-api-keys-id" of a route: stable, and readable in
// generated clients.
func operationID(method, path string) string {
	id := strings.ToLower(method) + strings.NewReplacer("/", "-", "{", "", "}", "", ".", "-").Replace(path)
	return strings.Trim(id, "-")
}

// parameters describes what the binder reads.
func parameters(reg huma.Registry, op *huma.Operation, r Route) {
	for _, f := range reflect.VisibleFields(r.In) {
		if f.Name == "Body" {
			op.RequestBody = &huma.RequestBody{Required: f.Type.Kind() != reflect.Pointer, Content: bodyContent(reg, op, r.Doc, f.Type)}
			continue
		}
		for _, in := range []string{"path", "query", "header"} {
			name, ok := f.Tag.Lookup(in)
			if !ok {
				continue
			}
			s := huma.SchemaFromField(reg, f, "")
			p := &huma.Param{Name: name, In: in, Required: in == "path", Description: s.Description, Schema: s}
			if len(s.Examples) > 0 {
				p.Example = s.Examples[0]
			}
			op.Parameters = append(op.Parameters, p)
		}
	}
	if r.Doc.Once {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: "Idempotency-Key", In: "header",
			Description: "Send the same key again to get the stored answer instead of doing it twice.", Schema: &huma.Schema{Type: "string"},
		})
	}
}

// bodyContent describes a body in each of its media types. The example of a
// JSON patch does what that of the merge patch does.
func bodyContent(reg huma.Registry, op *huma.Operation, d Doc, t reflect.Type) map[string]*huma.MediaType {
	content := map[string]*huma.MediaType{}
	for _, name := range (bodyRules{patch: d.Patch, jsonPatch: d.JSONPatch}).media() {
		if name == mediaJSONPatch {
			content[name] = &huma.MediaType{Schema: reg.Schema(reflect.TypeFor[[]PatchOp](), true, "JSONPatch"), Example: patchExample(d.Example)}
			continue
		}
		schema := reg.Schema(t, true, operationTypeHint(op))
		if name == mediaMergePatch {
			schema = mergeSchema(reg, schema)
		}
		content[name] = &huma.MediaType{Schema: schema, Example: d.Example}
	}
	return content
}

// mergeSchema makes the schema of a merge patch: every member is optional, and
// null removes one, inside objects too. A list is replaced as a whole.
func mergeSchema(reg huma.Registry, of *huma.Schema) *huma.Schema {
	name := strings.TrimPrefix(of.Ref, schemaPrefix)
	whole := of
	if of.Ref != "" {
		whole = reg.Map()[name]
		if !strings.HasSuffix(name, "Patch") {
			name += "Patch"
		}
		if done := reg.Map()[name]; done != nil && done != whole {
			return &huma.Schema{Ref: schemaPrefix + name}
		}
	}
	if len(whole.Properties) == 0 {
		return of
	}
	patch := *whole
	patch.Required, patch.Properties = nil, map[string]*huma.Schema{}
	if of.Ref != "" {
		reg.Map()[name] = &patch // before its members: one of them may be the same
		of = &huma.Schema{Ref: schemaPrefix + name}
	} else {
		of = &patch
	}
	for member, s := range whole.Properties {
		patch.Properties[member] = orNull(mergeSchema(reg, s))
	}
	return of
}

// orNull makes a schema allow null too.
func orNull(s *huma.Schema) *huma.Schema {
	switch {
	case s.Ref != "":
		return &huma.Schema{AnyOf: []*huma.Schema{s, {Type: "null"}}, Description: s.Description}
	case s.Type == "" || s.Nullable:
		return s // anything, or null already
	}
	null := *s
	null.Nullable = true
	if len(s.Enum) > 0 {
		null.Enum = append(slices.Clone(s.Enum), nil)
	}
	return &null
}

// patchExample writes a merge patch as a JSON patch: each of its values is added
// at its place, which replaces what stands there.
func patchExample(merge any) any {
	text, err := json.Marshal(merge, json.Deterministic(true))
	if err != nil || merge == nil {
		return nil
	}
	root, err := parseNode(text)
	if err != nil {
		return nil
	}
	return addAll(nil, root, "")
}

func addAll(ops []map[string]any, n *node, at string) []map[string]any {
	if !n.isObject() {
		return append(ops, map[string]any{"op": "add", "path": at, "value": n.raw})
	}
	for _, m := range n.members {
		ops = addAll(ops, m.value, string(jsontext.Pointer(at).AppendToken(m.name)))
	}
	return ops
}

func operationTypeHint(op *huma.Operation) string { return op.OperationID + "-body" }

func missingPath(op *huma.Operation, path string) []string {
	return slices.DeleteFunc(pathNames(path), func(name string) bool {
		return slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "path" && p.Name == name })
	})
}

// responses describes the usual answer and the shape of every refusal.
func responses(reg huma.Registry, op *huma.Operation, a *API, r Route) {
	refusal := &huma.Response{Description: "Refused; code says why. See /docs/errors."}
	if len(r.Doc.Codes) > 0 {
		refusal.Description = "Refused: " + strings.Join(r.Doc.Codes, ", ") + ", or a code every route may give. See /docs/errors."
	}
	switch reflect.ValueOf(a.cfg.Errors).Pointer() {
	case reflect.ValueOf(End).Pointer():
		refusal.Description = "Refused; the text says why."
		refusal.Content = map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: "string"}}}
	case reflect.ValueOf(Nest).Pointer():
		refusal.Content = map[string]*huma.MediaType{"application/json": {Schema: reg.Schema(reflect.TypeFor[nest](), true, "Error")}}
	default:
		refusal.Content = map[string]*huma.MediaType{"application/problem+json": {Schema: problemSchema(reg, r.Doc)}}
	}
	content := answerContent(reg, op, r)
	for _, status := range append([]int{r.Doc.Status}, r.Doc.Also...) {
		one := &huma.Response{Description: http.StatusText(status), Content: maps.Clone(content)}
		if status >= http.StatusBadRequest { // it may be refused, too
			maps.Copy(one.Content, refusal.Content)
		}
		op.Responses[strconv.Itoa(status)] = one
	}
	if r.Doc.Later != nil {
		schema := reg.Schema(reflect.TypeOf(r.Doc.Later), true, op.OperationID+"-later")
		op.Responses["202"] = &huma.Response{Description: http.StatusText(http.StatusAccepted), Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
	}
	op.Responses["4XX"] = refusal
	op.Responses["5XX"] = &huma.Response{Description: "The server cannot do it now. Try again.", Content: refusal.Content}
}

// problemSchema describes the refusals of a route: a problem, and the further
// members of some of its codes.
func problemSchema(reg huma.Registry, d Doc) *huma.Schema {
	base := reg.Schema(reflect.TypeFor[problem](), true, "Problem")
	members := d.Refusal
	if members == nil && slices.Contains(d.Codes, "STALE_REVISION") {
		members = stale{}
	}
	if members == nil {
		return base
	}
	more := *reg.Schema(reflect.TypeOf(members), false, "Refusal")
	more.AdditionalProperties = true
	return &huma.Schema{AllOf: []*huma.Schema{base, &more}}
}

// answerContent describes the usual answer in each of its media types; nil when
// it has no body.
func answerContent(reg huma.Registry, op *huma.Operation, r Route) map[string]*huma.MediaType {
	var schema *huma.Schema
	switch t := answerType(r); {
	case t != nil:
		schema = reg.Schema(t, true, op.OperationID+"-answer")
		if r.Out == nil && t.Kind() == reflect.Pointer {
			schema = orNull(schema)
		}
	case r.Doc.Produces != "":
		schema = &huma.Schema{Type: "string"}
	default:
		return nil
	}
	content := map[string]*huma.MediaType{}
	for media := range strings.SplitSeq(cmp.Or(r.Doc.Produces, mediaJSON), ",") {
		media = strings.TrimSpace(media)
		one := &huma.MediaType{Schema: schema}
		if media == mediaJSON && schema.Type == "string" {
			one.Schema = &huma.Schema{} // of an unstated type
		}
		content[media] = one
	}
	return content
}

func answerType(r Route) reflect.Type {
	if r.Out == nil {
		return reflect.TypeOf(r.Doc.Answer)
	}
	if t := replied(r.Out); t != nil {
		return t
	}
	return r.Out
}
