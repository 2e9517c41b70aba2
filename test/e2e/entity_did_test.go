package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestEntityOracleTwin resolves the oracle's own twin, which is there from the
// first start, without a key.
func TestEntityOracleTwin(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		ctx, c := t.Context(), owner(t, s)
		did := field(s.Output(), "oracle")
		twin := must(c.Entities.Get(ctx, did))(t)
		if twin.Class != "oracle" || twin.Status != "active" {
			t.Errorf("twin = %s %s, want an active oracle", twin.Class, twin.Status)
		}
		stranger := with(t, s.URL, "")
		r := must(stranger.DIDs.ResolvePublic(ctx, did, client.DIDVersion{}))(t)
		d := must(r.Document())(t)
		var ids []string
		for _, sv := range d.Service {
			if ids = append(ids, sv.ID); !strings.HasPrefix(sv.ServiceEndpoint, "http://localhost:") {
				t.Errorf("service = %+v, want the address of the server", sv)
			}
		}
		if slices.Sort(ids); d.ID != did || !slices.Equal(ids, []string{did + "#api", did + "#ws"}) {
			t.Errorf("document of %s with services %v, want #api and #ws", d.ID, ids)
		}
		if len(d.VerificationMethod) != 1 || !strings.HasPrefix(d.VerificationMethod[0].PublicKeyMultibase, "z6Mk") || len(d.AssertionMethod) != 1 {
			t.Errorf("keys = %+v, want the one it signs with", d.VerificationMethod)
		}
		a := curl(t, s, "GET /1.0/identifiers/"+did, "", "Authorization", "", "Accept", "application/did+ld+json")
		if raw := wants[client.DIDDocument](t, 200, a); a.Header.Get("Content-Type") != "application/did+ld+json" || raw.ID != did {
			t.Errorf("document %s as %q, want the document alone", raw.ID, a.Header.Get("Content-Type"))
		}
		if err := s.Stop(patience); err != nil {
			t.Fatal(err)
		}
		again := server.Run(t, o)
		if field(again.Output(), "oracle") != did {
			t.Errorf("the oracle is %s after a restart, want %s", field(again.Output(), "oracle"), did)
		}
		must(with(t, again.URL, "").DIDs.ResolvePublic(ctx, did, client.DIDVersion{}))(t)
	})
}

// TestEntityDIDDocuments resolves twins of all sorts.
func TestEntityDIDDocuments(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{Env: []string{"HEARTH_PUBLIC_URL=https://twins.example.org"}})
	ctx, c := t.Context(), owner(t, s)
	stranger := with(t, s.URL, "")
	door := []client.Service{{ID: "#data", Type: "DataIngestion", Endpoint: "https://example.org/ingest"}}
	twin := must(c.Entities.Create(ctx, client.EntityDraft{Type: "Stove", Protocol: "did:ixo:protocol/clean-cooking", Services: door, Properties: client.Object{"serial": "secret-1"}}))(t)
	home := must(c.Entities.CreateAs(ctx, "did:ixo:household/123", client.EntityDraft{Type: "Household", Protocol: "did:ixo:protocol/household", Services: door}))(t)
	d := must(c.DIDs.Document(ctx, twin.DID, client.DIDVersion{}))(t)
	if len(d.Service) != 1 || d.Service[0].ID != twin.DID+"#data" || d.Service[0].ServiceEndpoint != door[0].Endpoint || !slices.Equal(d.Controller, twin.Controllers) {
		t.Errorf("document = %+v, want its service and controllers", d)
	}
	public := must(stranger.DIDs.ResolvePublic(ctx, twin.DID, client.DIDVersion{}))(t)
	if strings.Contains(string(public.DIDDocument), "secret-1") {
		t.Errorf("strangers see %s", public.DIDDocument)
	}
	if hidden := must(stranger.DIDs.ResolvePublic(ctx, home.DID, client.DIDVersion{}))(t); strings.Contains(string(hidden.DIDDocument), "example.org/ingest") {
		t.Errorf("strangers see where a household is: %s", hidden.DIDDocument)
	}
	raw := curl(t, s, "GET /1.0/identifiers/did:ixo:household/123", "", "Authorization", "")
	if res := wants[client.Resolution](t, 200, raw); must(res.Document())(t).ID != home.DID {
		t.Errorf("resolution with a plain slash = %s, want the household", raw.Body)
	}
	id := twin.DID[strings.LastIndex(twin.DID, ":")+1:]
	if web := must(stranger.DIDs.Web(ctx, id))(t); web.ID != "did:web:twins.example.org:entities:"+id || !slices.Contains(web.AlsoKnownAs, twin.DID) {
		t.Errorf("did:web document = %+v, want that of the twin", web)
	}
	if own := must(stranger.DIDs.Server(ctx))(t); own.ID != "did:web:twins.example.org" || len(own.Service) != 2 {
		t.Errorf("did:web document of the server = %+v, want its two services", own)
	}
	must(c.Entities.Deactivate(ctx, twin.DID, client.IfRevision(1)))(t)
	var m client.Meta
	gone := must(stranger.DIDs.ResolvePublic(ctx, twin.DID, client.DIDVersion{}, client.WithMeta(&m)))(t)
	if m.Status != 410 || !gone.DocumentMetadata.Deactivated || len(must(gone.Document())(t).Service) != 0 {
		t.Errorf("a deactivated DID resolves to %d %+v, want 410, deactivated", m.Status, gone)
	}
	if then := must(c.DIDs.Document(ctx, twin.DID, client.DIDVersion{Revision: 1}))(t); len(then.Service) != 1 {
		t.Errorf("the document of revision 1 = %+v, want its service", then)
	}
	_, err := stranger.DIDs.ResolvePublic(ctx, "did:ixo:entity:00000000000000000000000000000000", client.DIDVersion{})
	refused(t, "an unknown DID", "notFound", err)
	_, err = c.DIDs.Resolve(ctx, "did:ixo:nobody/1", client.DIDVersion{})
	refused(t, "an unknown DID in the workspace", "DID_NOT_FOUND", err)
	key := must(c.DIDs.Resolve(ctx, "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK", client.DIDVersion{}))(t)
	if kd := must(key.Document())(t); len(kd.VerificationMethod) != 1 {
		t.Errorf("did:key = %+v, want its key", kd)
	}
}
