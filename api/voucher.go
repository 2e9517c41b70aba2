package api

import "time"

// VoucherDraft asks for a voucher.
type VoucherDraft struct {
	RecipientDID          string         `json:"recipientDid" doc:"DID of the recipient." example:"did:ixo:household/123"`
	EmissionCertificateID string         `json:"emissionCertificateId" doc:"DID of the credential that the voucher is paid from. The voucher belongs to its project."`
	Value                 float64        `json:"value" doc:"What it is worth: more than 0, with at most two decimals, at most 1,000,000,000." example:"250.5"`
	Currency              string         `json:"currency,omitzero" doc:"Three capital letters, as in ISO 4217. Absent: units that both sides know." example:"ZMW"`
	SupplierDID           string         `json:"supplierDid,omitzero" doc:"The only supplier that can redeem it. Absent: any. Over USSD only a voucher with a supplier can be redeemed."`
	ExpiresAt             time.Time      `json:"expiresAt,omitzero" doc:"When it can no longer be redeemed; within ten years. Absent: in a year."`
	Attributes            map[string]any `json:"attributes,omitzero" doc:"At most 20 texts, numbers and booleans, for keys with vouchers:write only. Put nothing about persons here."`
}

// Voucher is a promise to a recipient that suppliers redeem, at once or in parts.
type Voucher struct {
	ID                    string         `json:"voucherId" doc:"A supplier who knows it can redeem the voucher."`
	ProjectID             string         `json:"projectId,omitzero"`
	RecipientDID          string         `json:"recipientDid"`
	EmissionCertificateID string         `json:"emissionCertificateId"`
	Value                 float64        `json:"value"`
	Balance               float64        `json:"balance" doc:"What is left of the value; never below zero."`
	Currency              string         `json:"currency,omitzero"`
	SupplierDID           string         `json:"supplierDid,omitzero"`
	Status                string         `json:"status" enum:"active,spent,expired,cancelled,erased"`
	ExpiresAt             time.Time      `json:"expiresAt"`
	IssuedAt              time.Time      `json:"issuedAt"`
	IssuedBy              string         `json:"issuedBy"`
	Reason                string         `json:"reason,omitzero" doc:"Why it was cancelled."`
	Attributes            map[string]any `json:"attributes,omitzero"`
	CertificateTotal      float64        `json:"certificateTotal,omitzero" doc:"What has been promised from the credential in this currency, with this voucher; where one is issued."`
}

// RedemptionDraft asks to redeem a voucher, in whole or in part.
type RedemptionDraft struct {
	VoucherID   string  `json:"voucherId"`
	SupplierDID string  `json:"supplierDid" doc:"Yourself, or a twin that you control." example:"did:ixo:entity:1f0a"`
	Amount      float64 `json:"amount" doc:"More than 0, with at most two decimals, at most the balance." example:"100"`
	ProductID   string  `json:"productId,omitzero" doc:"What was given for it." example:"pellets-20kg"`
}

// Redemption is an amount of a voucher that was paid to a supplier.
type Redemption struct {
	ID          string    `json:"redemptionId"`
	VoucherID   string    `json:"voucherId"`
	SupplierDID string    `json:"supplierDid"`
	Amount      float64   `json:"amount"`
	Balance     float64   `json:"balance" doc:"Of the voucher, afterwards."`
	ProductID   string    `json:"productId,omitzero"`
	Mode        string    `json:"mode" enum:"api,ussd" doc:"Who asked for it: the supplier here, or the recipient over USSD."`
	At          time.Time `json:"at"`
	By          string    `json:"by"`
}
