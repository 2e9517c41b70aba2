package app_test

import (
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

func (h *house) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := h.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}
