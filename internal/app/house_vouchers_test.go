package app_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// furnishVouchers puts the credential and the supplier of the documented examples
// into the house, and a voucher.
func (h *house) furnishVouchers(t *testing.T) {
	t.Helper()
	h.ids["voucher"] = "vch_mzxw6ytboi2dgnbvgy3tqojqge"
	for did, kind := range map[string]string{"did:ixo:entity:abc123": "credential", "did:ixo:entity:shop123": "asset"} {
		w := h.post("/v1/entities", `{"type":"Device","protocol":"did:ixo:protocol/template","properties":{"metricOne":"value"}}`)
		var made struct {
			DID string `json:"did"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code >= 300 {
			t.Fatalf("POST /v1/entities: %d %s", w.Code, w.Body)
		}
		h.exec(t, `UPDATE entities SET did = $2, domain_type = $3, status = 'active' WHERE did = $1`, made.DID, did, kind)
	}
	h.exec(t, `INSERT INTO vouchers (nid, ws, voucher_id, project, recipient, certificate, supplier, value, balance, currency, state, expires_at, created_at, actor, reason, attributes)
		SELECT nid, ws, $2, '', 'did:ixo:household/123', 'did:ixo:entity:abc123', '', 50000, 50000, 'ZMW', 'active', 4102444800000, created_at, rev_actor, '', '' FROM entities WHERE did = $1`,
		h.ids["entity"], h.ids["voucher"])
}

// furnishCredentials puts an oracle with a key and a status list into the house, and a
// credential as if it had issued one.
func (h *house) furnishCredentials(t *testing.T) {
	t.Helper()
	made := func(path, body string) string {
		t.Helper()
		w := h.post(path, body)
		var out struct {
			DID string `json:"did"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code >= 300 {
			t.Fatalf("POST %s: %d %s", path, w.Code, w.Body)
		}
		return out.DID
	}
	oracle, project := made("/v1/entities", `{"type":"Oracle","protocol":"did:ixo:protocol/oracle"}`), made("/v1/entities", `{"type":"Project","protocol":"did:ixo:protocol/project"}`)
	made("/v1/entities/"+oracle+"/issuer-keys", `{}`)
	var report struct {
		ID string `json:"id"`
	}
	h.ids["reported"] = `{"projectId":"` + project + `","oracle":"` + oracle + `"}`
	if w := h.post("/v1/reports", h.ids["reported"]); w.Code != 202 || json.Unmarshal(w.Body.Bytes(), &report) != nil {
		t.Fatalf("a report: %d %s", w.Code, w.Body)
	}
	h.ids["report"] = report.ID
	h.ids["credential"] = made("/v1/entities", `{"type":"Device","protocol":"did:ixo:protocol/template","properties":{"metricOne":"value"}}`)
	h.ids["status-list"] = "9f86d081884c7d659a2feaa0c55ad015-revocation"
	h.exec(t, `UPDATE entities SET domain_type = 'credential', status = 'active', body = replace(replace(body, '"domainType":"device"', '"domainType":"credential"'), '"status":"draft"', '"status":"active"') WHERE did = $1`,
		h.ids["credential"])
	h.ids["c"] = strings.Repeat("c", 32)
	h.exec(t, `INSERT INTO status_lists (nid, ws, issuer, list_id, created_at) SELECT nid, ws, nid, $2, created_at FROM entities WHERE did = $1`, oracle, strings.TrimSuffix(h.ids["status-list"], "-revocation"))
	h.exec(t, `INSERT INTO credentials (nid, ws, did, page, uri, project, subject, claim, issuer, list, place, state, suspended, revoked, retired, disputed, issued_at, salt, says, document)
		SELECT nid, ws, did, $2, 'urn:x', '', 0, 0, 0, 0, 7, 'active', 0, 0, 0, 0, created_at, '', '{}', '{}' FROM entities WHERE did = $1`, h.ids["credential"], h.ids["c"])
}

func (h *house) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := h.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}
