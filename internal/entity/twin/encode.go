package twin

import (
	"maps"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// Encode renders a record exactly as web.Encode does, in about half of the
// time, because a record is rendered for every revision of every twin. A test
// compares both over all members, so a new one cannot be forgotten here. The
// error for what cannot be rendered is that of web.Encode.
func (e *Entity) Encode() ([]byte, error) {
	w := recordWriter{writer{B: make([]byte, 0, 1536+len(e.Properties.Value)+len(e.Metadata.Value)+256*len(e.Relationships)+128*len(e.Services))}}
	w.Open()
	w.head(e)
	w.lists(e)
	w.tail(e)
	w.Shut()
	if w.Failed {
		return web.Encode(e)
	}
	return w.B, nil
}

// head writes the members down to the properties.
func (w *recordWriter) head(e *Entity) {
	w.Text(`"did":`, e.DID)
	w.Text(`"type":`, e.Type)
	w.Text(`"class":`, e.Class)
	w.Text(`"domainType":`, e.DomainType)
	w.Text(`"controller":`, e.Controller)
	w.Texts(`"controllers":`, e.Controllers)
	w.Text(`"owner":`, e.Owner)
	w.Text(`"protocol":`, e.Protocol)
	w.Text(`"protocolVersion":`, e.ProtocolVersion)
	w.Some(`"project":`, e.Project)
	w.Object(`"properties":`, e.Properties.Value)
}

// lists writes what a record has any number of.
func (w *recordWriter) lists(e *Entity) {
	each(&w.writer, `"services":`, e.Services, func(x *Endpoint) {
		w.Text(`"id":`, x.ID)
		w.Text(`"type":`, x.Type)
		w.Text(`"endpoint":`, x.Endpoint)
	})
	each(&w.writer, `"relationships":`, e.Relationships, w.relationship)
	w.Mark(`"moreRelationships":`, e.MoreRelationships)
	w.Texts(`"missingRelationships":`, e.MissingRelationships)
	each(&w.writer, `"verifiableCredential":`, e.VerifiableCredential, func(x *Credential) {
		w.Some(`"id":`, x.ID)
		w.Text(`"type":`, x.Type)
		w.Text(`"issuer":`, x.Issuer)
		w.Some(`"status":`, x.Status)
	})
	w.Mark(`"moreCredentials":`, e.MoreCredentials)
	each(&w.writer, `"linkedResources":`, e.LinkedResources, w.resource)
	each(&w.writer, `"linkedClaims":`, e.LinkedClaims, w.resource)
	each(&w.writer, `"linkedEntities":`, e.LinkedEntities, func(x *LinkedEntity) {
		w.Text(`"id":`, x.ID)
		w.Text(`"type":`, x.Type)
		w.Text(`"relationship":`, x.Relationship)
		w.Some(`"service":`, x.Service)
	})
	each(&w.writer, `"accordedRights":`, e.AccordedRights, func(x *AccordedRight) {
		w.Text(`"id":`, x.ID)
		w.Text(`"type":`, x.Type)
		w.Some(`"mechanism":`, x.Mechanism)
		w.Some(`"message":`, x.Message)
		w.Some(`"service":`, x.Service)
	})
	each(&w.writer, `"accounts":`, e.Accounts, func(x *Account) {
		w.Text(`"name":`, x.Name)
		w.Text(`"address":`, x.Address)
	})
	w.Texts(`"alsoKnownAs":`, e.AlsoKnownAs)
}

func (w *recordWriter) relationship(x *Relationship) {
	w.Text(`"id":`, x.ID)
	w.Text(`"role":`, x.Role)
	w.Text(`"target":`, x.Target)
	w.Mark(`"external":`, x.External)
	w.Mark(`"unconfirmed":`, x.Unconfirmed)
	w.Moment(`"since":`, x.Since)
	w.Moment(`"until":`, x.Until)
	w.Text(`"source":`, x.Source)
}

func (w *recordWriter) resource(x *LinkedResource) {
	w.Text(`"id":`, x.ID)
	w.Text(`"type":`, x.Type)
	w.Some(`"description":`, x.Description)
	w.Some(`"mediaType":`, x.MediaType)
	w.Some(`"serviceEndpoint":`, x.ServiceEndpoint)
	w.Some(`"proof":`, x.Proof)
	w.Some(`"encrypted":`, x.Encrypted)
	w.Some(`"right":`, x.Right)
}

// tail writes the members from the external ids on.
func (w *recordWriter) tail(e *Entity) {
	w.Name(`"externalIds":`)
	w.Open()
	if len(e.ExternalIDs) > 0 {
		for _, scheme := range slices.Sorted(maps.Keys(e.ExternalIDs)) {
			w.Quote(scheme)
			w.B = append(w.B, ':')
			w.Quoted(e.ExternalIDs[scheme])
		}
	}
	w.Shut()
	w.Text(`"status":`, string(e.Status))
	w.Number(`"statusCode":`, int64(e.StatusCode))
	w.Name(`"verification":`)
	w.Open()
	w.Text(`"status":`, e.Verification.Status)
	w.Some(`"verifier":`, e.Verification.Verifier)
	w.Moment(`"timestamp":`, e.Verification.Timestamp)
	w.Some(`"evidence":`, e.Verification.Evidence)
	if e.Verification.Revision != 0 {
		w.Number(`"revision":`, e.Verification.Revision)
	}
	if e.Verification.Approvals != nil {
		each(&w.writer, `"approvals":`, e.Verification.Approvals, func(x *Approval) {
			w.Text(`"oracle":`, x.Oracle)
			w.Text(`"verifier":`, x.Verifier)
			w.Time(`"timestamp":`, x.Timestamp)
			if x.Revision != 0 {
				w.Number(`"revision":`, x.Revision)
			}
		})
	}
	if e.Verification.Missing != 0 {
		w.Number(`"missing":`, int64(e.Verification.Missing))
	}
	w.Shut()
	w.Moment(`"startDate":`, e.StartDate)
	w.Moment(`"endDate":`, e.EndDate)
	w.Text(`"relayerNode":`, e.RelayerNode)
	w.Object(`"metadata":`, e.Metadata.Value)
	w.Number(`"revision":`, e.Revision)
	w.Time(`"created":`, e.Created)
	w.Time(`"updated":`, e.Updated)
	w.Text(`"createdBy":`, e.CreatedBy)
	w.Text(`"updatedBy":`, e.UpdatedBy)
	w.Some(`"statedBy":`, e.StatedBy)
	w.Name(`"links":`)
	w.Open()
	w.Text(`"self":`, e.Links.Self)
	w.Text(`"history":`, e.Links.History)
	w.Text(`"relationships":`, e.Links.Relationships)
	w.Text(`"graph":`, e.Links.Graph)
	w.Text(`"didDocument":`, e.Links.DIDDocument)
	w.Shut()
	if e.Withheld != nil {
		w.Texts(`"withheld":`, e.Withheld)
	}
}

// recordWriter writes the parts of a record.
type recordWriter struct{ writer }
