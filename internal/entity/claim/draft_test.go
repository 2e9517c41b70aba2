package claim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

func TestKitchenClaim(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		home := v.twin(t, "owner", "household")
		body := `{"type":"KPTClaim","householdId":"` + home + `","testGroup":"intervention","testPeriod":{"startDate":"2024-02-01","endDate":"2024-02-04","durationDays":3},
			"fuelMeasurements":{"total":%s,"dailyLogs":[3.2,2.8,3.0,2.9]},"externalFactors":{"season":"dry"},"evidence":["photo:1"]}`
		r := v.want(t, "owner", "POST /v1/claims", fmt.Sprintf(body, "15"), "400 CLAIM_INVALID")
		if len(r.Fields) != 1 || r.Fields[0].Pointer != "/fuelMeasurements/total" {
			t.Errorf("fields = %v, want the total", r.Fields)
		}
		r = v.want(t, "owner", "POST /v1/claims", fmt.Sprintf(body, "11.9"), "201")
		if r.text("kind") != "KPTClaim" || r.text("periodEnd") != "2024-02-04" || fmt.Sprint(r.Body["amount"]) != "map[unit:kg value:11.9]" {
			t.Errorf("the claim is %v", r.Body)
		}
		v.want(t, "owner", "POST /v1/claims", fmt.Sprintf(body, "11.9"), "409 CLAIM_OVERLAPS")
		unknown := v.want(t, "owner", "POST /v1/claims", strings.Replace(fmt.Sprintf(body, "11.9"), home, "did:ixo:household/none", 1), "422 RELATIONSHIP_TARGET_NOT_FOUND")
		if len(unknown.Fields) != 1 || unknown.Fields[0].Pointer != "/householdId" {
			t.Errorf("fields = %v, want the household", unknown.Fields)
		}
	})
}

// A fault names the member that was sent, in the documented bodies too.
func TestDocumentedBodiesNameTheirMembers(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		home := v.twin(t, "owner", "household")
		kitchen := func(household, ends, fuel string) string {
			return `{"type":"KPTClaim","householdId":"` + household + `","testGroup":"reference","testPeriod":{"startDate":"2024-02-01","endDate":"` + ends + `"},"fuelMeasurements":` + fuel + `}`
		}
		redeemed := `{"redemptionId":"%s","verifiableCredential":{"credentialSubject":{"id":"%s"}}}`
		v.want(t, "owner", "POST /v1/claims", fmt.Sprintf(redeemed, "r-1", home), "201")
		for _, tt := range []struct{ body, want, pointer string }{
			{kitchen("Mary", "2024-02-04", `{"total":3}`), "400 CLAIM_INVALID", "/householdId"},
			{kitchen(home, "2024-02-30", `{"total":3}`), "400 CLAIM_INVALID", "/testPeriod/endDate"},
			{kitchen(home, "2024-01-04", `{"total":3}`), "400 CLAIM_INVALID", "/testPeriod/endDate"},
			{kitchen(home, "2024-02-04", `{"total":-3}`), "400 CLAIM_INVALID", "/fuelMeasurements/total"},
			{kitchen(home, "2024-02-04", `{"total":3,"unit":"bags of wood, more or less"}`), "400 CLAIM_INVALID", "/fuelMeasurements/unit"},
			{fmt.Sprintf(redeemed, "r-1", home), "409 EXTERNAL_ID_EXISTS", "/redemptionId"},
			{fmt.Sprintf(redeemed, "r-2", "did:ixo:household/none"), "422 RELATIONSHIP_TARGET_NOT_FOUND", "/verifiableCredential/credentialSubject/id"},
			{claimed("Mary", "2024-02-01", "2024-02-04"), "400 CLAIM_INVALID", "/subject"},
		} {
			if r := v.want(t, "owner", "POST /v1/claims", tt.body, tt.want); len(r.Fields) != 1 || r.Fields[0].Pointer != tt.pointer {
				t.Errorf("%s: fields = %v, want %s", tt.body, r.Fields, tt.pointer)
			}
		}
	})
}
