package credential

import (
	"crypto/rand"
	"encoding/base32"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Nouns of package api, by their names here.
type (
	VoucherDraft    = api.VoucherDraft
	Voucher         = api.Voucher
	RedemptionDraft = api.RedemptionDraft
	Redemption      = api.Redemption
)

// The states of a voucher. Only the first three are stored: an active one may be
// spent or expired.
const (
	voucherActive    = "active"
	voucherCancelled = "cancelled"
	voucherErased    = "erased"
	voucherSpent     = "spent"
	voucherExpired   = "expired"
)

// byUSSD is how a recipient redeems.
const byUSSD = "ussd"

// Limits of a voucher.
const (
	maxVoucher         = 1_000_000_000
	maxAttributes      = 20
	maxName            = 64
	maxText            = 200
	maxProduct         = 100
	voucherTime        = 365 * 24 * time.Hour
	longestVoucherTime = 10 * voucherTime
)

const (
	invalidVoucher     = "VOUCHER_INVALID"
	invalidVoucherText = "The voucher is not valid."
)

var currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)

// cents converts an amount to hundredths. It must be exact, so that there is no
// doubt about rounding: the number nearest to its hundredths must be the one that
// was sent.
func cents(c *fault.Checks, pointer string, amount float64) int64 {
	n := math.Round(amount * 100)
	switch {
	case !(amount > 0) || amount > maxVoucher:
		c.Add(pointer, "out_of_range", "An amount is more than 0 and at most 1,000,000,000.")
	case n/100 != amount || n < 1:
		c.Add(pointer, "decimals", "An amount has at most two decimals.")
	}
	return int64(n)
}

func voucherAmount(cents int64) float64 { return float64(cents) / 100 }

// checkDraft names everything that is wrong with a draft alone, and returns its
// value in hundredths.
func checkVoucher(c *fault.Checks, d *VoucherDraft, now time.Time) int64 {
	check.DID(c, "/recipientDid", d.RecipientDID)
	check.DID(c, "/emissionCertificateId", d.EmissionCertificateID)
	value := cents(c, "/value", d.Value)
	if d.SupplierDID != "" {
		check.DID(c, "/supplierDid", d.SupplierDID)
		if d.SupplierDID == d.RecipientDID {
			c.Add("/supplierDid", "recipient", "Recipients cannot redeem their own vouchers.")
		}
	}
	if d.Currency != "" && !currencyForm.MatchString(d.Currency) {
		c.Add("/currency", "invalid", "A currency is three capital letters, such as ZMW.")
	}
	if d.ExpiresAt.IsZero() {
		d.ExpiresAt = now.Add(voucherTime)
	} else if !d.ExpiresAt.After(now) || d.ExpiresAt.After(now.Add(longestVoucherTime)) {
		c.Add("/expiresAt", "out_of_range", "A voucher ends in the future, within ten years.")
	}
	if len(d.Attributes) > maxAttributes {
		c.Add("/attributes", "too_many", "There are at most 20 attributes.")
	}
	for name, value := range d.Attributes {
		checkAttribute(c, name, value)
	}
	return value
}

func checkAttribute(c *fault.Checks, name string, value any) {
	text, isText := value.(string)
	switch value.(type) {
	case string, float64, bool:
	default:
		c.Add("/attributes", "invalid", "An attribute is a text, a number or a boolean.")
	}
	if name == "" || len(name) > maxName || isText && len([]rune(text)) > maxText || strings.ContainsRune(name+text, 0) {
		c.Add("/attributes", "too_long", "The name of an attribute has at most 64 bytes, a text at most 200 characters.")
	}
}

// newVoucherID makes an unguessable id: a supplier who knows it can redeem the voucher.
func newVoucherID(prefix string) string {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails
	return prefix + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(random))
}
