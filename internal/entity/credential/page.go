package credential

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/vc"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// pageStyle is how the public page of a credential looks.
//
//go:embed page.css
var pageStyle string

// pagePolicy lets a browser use the style of the page and load nothing else.
func pagePolicy() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// pageView is the content of the page. None of it is about a person.
type pageView struct {
	Words     map[string]string
	Lang      string
	Says      *api.IssuedCredential
	Amount    string
	Kind      string // in words
	Issuer    string // its name, "" for none
	Project   string // likewise
	Signer    string // the issuer's id in the document
	Pseudonym string
	Good      bool
	Signed    bool
	Reasons   []vc.Reason
	Warnings  []vc.Reason
	QR        *auth.QR
	Document  string // address of the signed document
}

// verifier makes the Verifier of credentials issued here.
func (s *Service) verifier() *vc.Verifier {
	return &vc.Verifier{Lookup: s.Method, Status: s.Status, History: s.History, Now: s.is.now}
}

// shown reads a credential by the id of its page alone, for any caller. Fault:
// CREDENTIAL_NOT_FOUND.
func (s *Service) shown(ctx context.Context, id string) (*row, error) {
	r, err := one(s.db.QueryRow(ctx, selectByPage, id))
	if err == nil && r == nil {
		err = notFound()
	}
	return r, err
}

// Page renders the public page of a credential: what it says, and whether it verifies
// now. Fault: CREDENTIAL_NOT_FOUND.
func (s *Service) Page(ctx context.Context, id, lang string) ([]byte, error) {
	r, err := s.shown(ctx, id)
	if err != nil {
		return nil, err
	}
	v, err := s.pageView(ctx, r, lang)
	if err != nil {
		return nil, err
	}
	return v.write(), nil
}

func (s *Service) pageView(ctx context.Context, r *row, lang string) (*pageView, error) {
	says, err := s.is.view(r, false)
	if err != nil {
		return nil, err
	}
	found := s.verifier().Credential(ctx, jsontext.Value(r.document), vc.Options{})
	v := &pageView{
		Says: says, Signer: found.Issuer, Good: found.Verified(), Reasons: found.Reasons, Warnings: found.Warnings, Signed: signed(found.Reasons), Document: "/c/" + r.page + "/credential",
	}
	v.Lang, v.Words = spoken(lang)
	v.Kind = inWords(says.Kind)
	if v.Issuer, err = nameOf(s.db.QueryRow(ctx, selectName, r.issuer)); err != nil {
		return nil, err
	}
	if v.Project, err = nameOf(s.db.QueryRow(ctx, selectNamed, r.ws, says.Project)); err != nil {
		return nil, err
	}
	if a := says.Amount; a != nil {
		v.Amount = strconv.FormatFloat(a.Value, 'f', -1, 64) + " " + a.Unit
	}
	v.Pseudonym = pseudonym(r.salt, says.Subject)
	if s.is.base != nil {
		v.QR, err = auth.Draw(says.Page)
	}
	return v, err
}

// spoken picks the language of a page, Kiswahili or English, and its texts.
func spoken(lang string) (string, map[string]string) {
	if strings.HasPrefix(strings.ToLower(lang), "sw") {
		return "sw", words["sw"]
	}
	return "en", words["en"]
}

// inWords writes a kind for people: "fuel-saved" becomes Fuel saved.
func inWords(kind string) string {
	text := strings.Join(strings.FieldsFunc(kind, func(r rune) bool { return strings.ContainsRune("-_.:/ ", r) }), " ")
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// nameOf reads the name of an oracle or a project; "" for none.
func nameOf(from db.Row) (string, error) {
	var name string
	err := from.Scan(&name)
	return db.Found(name, err, "read name")
}

// signed reports whether the reasons against a document concern only its state.
func signed(reasons []vc.Reason) bool {
	for _, r := range reasons {
		if r.Code != Revoked && r.Code != Suspended {
			return false
		}
	}
	return true
}

// words are the texts of the page, by language.
var words = map[string]map[string]string{
	"en": {
		"title": "Credential", "good": "This credential is genuine and valid.", "bad": "Do not rely on this credential.", "used": "This credential is genuine, and it has been counted already. It must not count again.", "kind": "Kind", "amount": "Amount", "period": "Period", "issued": "Issued",
		"issuer": "Issuer", "about": "About", "aboutNote": "a pseudonym of this credential alone; it names nobody", "project": "Project", "checks": "Checked just now by this server",
		"signed": "Signed by its issuer, and not a byte was changed", "unrevoked": "Not revoked", "unsuspended": "Not suspended", "document": "The signed document (W3C Verifiable Credential)",
		"missing": "No such credential", "missingNote": "No credential has this address. Compare it with the QR code or the link you were given.",
		"scan": "Scan to open this page", "to": "to", "suspended": "Suspended", "revoked": "Revoked", "unsigned": "Not as its issuer signed it",
	},
	"sw": {
		"title": "Cheti", "good": "Cheti hiki ni halali na kinatumika.", "bad": "Usitegemee cheti hiki.", "used": "Cheti hiki ni halali, na tayari kimehesabiwa. Hakipaswi kuhesabiwa tena.", "kind": "Aina", "amount": "Kiasi", "period": "Kipindi", "issued": "Kimetolewa",
		"issuer": "Mtoaji", "about": "Kuhusu", "aboutNote": "jina la siri la cheti hiki pekee; halimtaji mtu yeyote", "project": "Mradi", "checks": "Kimekaguliwa sasa hivi na seva hii",
		"signed": "Kimetiwa saini na mtoaji, na hakuna kilichobadilishwa", "unrevoked": "Hakijabatilishwa", "unsuspended": "Hakijasimamishwa", "document": "Hati iliyotiwa saini (W3C Verifiable Credential)",
		"missing": "Hakuna cheti kama hicho", "missingNote": "Hakuna cheti chenye anwani hii. Ilinganishe na msimbo wa QR au kiungo ulichopewa.",
		"scan": "Changanua kufungua ukurasa huu", "to": "hadi", "suspended": "Kimesimamishwa", "revoked": "Kimebatilishwa", "unsigned": "Hakiko kama mtoaji alivyokitia saini",
		"why suspended": "Mtoaji amekisimamisha cheti hiki.", "why revoked": "Mtoaji amekibatilisha cheti hiki.", "why retired": "Cheti kimestaafishwa: kimehesabiwa, na hakipaswi kuhesabiwa tena.",
	},
}

func (s *Service) pageRoutes(a *web.API) {
	web.Get(a, "/c/{pageId}", s.servePage, web.Doc{
		Summary: "Show the public page of a credential", Scope: web.Public, Tag: tag, Produces: "text/html", Page: true, Codes: []string{"CREDENTIAL_NOT_FOUND"},
		Description: "A page for people, by an id of 128 random bits that the credential's QR code holds. It has no personal data.",
	})
	web.Get(a, "/c/{pageId}/credential", s.servePageDocument, web.Doc{
		Summary: "Read the signed document of a public page", Scope: web.Public, Tag: tag, Produces: "application/vc", Codes: []string{"CREDENTIAL_NOT_FOUND"},
	})
}

// onPage names a page.
type onPage struct {
	ID       string `path:"pageId" doc:"Id of the page." example:"9f86d081884c7d659a2feaa0c55ad015"`
	Language string `header:"Accept-Language" doc:"English, or Kiswahili for sw."`
	Accept   string `header:"Accept" doc:"With text/html, an unknown id is answered with a page too."`
}

func (s *Service) servePage(ctx context.Context, in *onPage) (web.Reply[string], error) {
	page, err := s.Page(ctx, in.ID, in.Language)
	status := 0
	if fault.CodeOf(err) == notFoundCode && strings.Contains(in.Accept, "text/html") {
		status = http.StatusNotFound
		page, err = missing(in.Language), nil
	}
	return web.Reply[string]{Raw: page, Status: status, Media: "text/html; charset=utf-8", Cache: "private, max-age=20", Policy: pagePolicy()}, err
}

func (s *Service) servePageDocument(ctx context.Context, in *onPage) (web.Reply[map[string]any], error) {
	r, err := s.shown(ctx, in.ID)
	if err != nil {
		return web.Reply[map[string]any]{}, err
	}
	return web.Reply[map[string]any]{Raw: []byte(r.document), Media: "application/vc", Cache: "public, max-age=20"}, nil
}
