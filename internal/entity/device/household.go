package device

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

const (
	maxSize        = 1000                    // people in a household
	documentedType = "CleanCookingHousehold" // another word for the type of households
)

// HouseholdDraft describes a household to register.
type HouseholdDraft struct {
	DID         string            `json:"did,omitzero" doc:"DID of the household; made when absent."`
	Type        string            `json:"type,omitzero" doc:"Household, also when absent; CleanCookingHousehold is accepted as well and means the same."`
	Location    entity.Object     `json:"location,omitzero" doc:"Where it is: district, density, and whatever else is known."`
	Baseline    entity.Object     `json:"baseline,omitzero" doc:"How it cooked before: fuelType, monthlyConsumption, and whatever else is known."`
	Name        string            `json:"name,omitzero"`
	Phone       string            `json:"phone,omitzero"`
	Size        *int64            `json:"size,omitzero" doc:"How many people live there."`
	Consent     *bool             `json:"consent,omitzero" doc:"Whether they agreed to being monitored."`
	Project     string            `json:"project,omitzero" doc:"DID of the project."`
	ExternalIDs map[string]string `json:"externalIds,omitzero" doc:"Names other systems have for it."`
	Controllers []string          `json:"controllers,omitzero" doc:"Who may change it, the controller first; the caller when absent."`
	Metadata    entity.Object     `json:"metadata,omitzero"`
}

// Validate names everything that is wrong with the draft and can be seen
// without its protocol.
func (d HouseholdDraft) Validate() error {
	var c fault.Checks
	checkObject(&c, "/location", d.Location)
	checkObject(&c, "/baseline", d.Baseline)
	checkObject(&c, "/metadata", d.Metadata)
	location, baseline := members(d.Location), members(d.Baseline)
	wantText(&c, "/location/district", location["district"])
	wantText(&c, "/location/density", location["density"])
	wantText(&c, "/baseline/fuelType", baseline["fuelType"])
	if v := baseline["monthlyConsumption"]; v != nil {
		if n, ok := v.(float64); !ok {
			c.Add("/baseline/monthlyConsumption", "wrong_type", "The value must be a number.")
		} else if n < 0 {
			c.Add("/baseline/monthlyConsumption", "out_of_range", "The value must be at least 0.")
		}
	}
	if d.Type != "" && !strings.EqualFold(d.Type, entity.HouseholdType) && !strings.EqualFold(d.Type, documentedType) {
		c.Add("/type", "invalid", "The type is Household. POST /v1/entities makes twins of other types.")
	}
	if blank(location) && strings.TrimSpace(d.Name) == "" && len(d.ExternalIDs) == 0 && c.OK() {
		c.Add("", "required", "A household has at least a location, a name or an external id.")
	}
	check.Short(&c, "/name", d.Name, maxName)
	check.Short(&c, "/phone", d.Phone, maxWord)
	checkDID(&c, "/project", d.Project)
	if d.Size != nil && (*d.Size < 0 || *d.Size > maxSize) {
		c.Add("/size", "out_of_range", "The size is 0 to 1000.")
	}
	return c.Err("ENTITY_INVALID", "The household is not valid.")
}

// blank reports whether an object has no members but empty ones.
func blank(o map[string]any) bool {
	for _, v := range o {
		if text, ok := v.(string); v != nil && (!ok || strings.TrimSpace(text) != "") {
			return false
		}
	}
	return true
}

func wantText(c *fault.Checks, pointer string, v any) {
	if v == nil {
		return
	}
	text, ok := v.(string)
	if !ok {
		c.Add(pointer, "wrong_type", "The value must be a text.")
	}
	check.Short(c, pointer, text, maxName)
}

// twin converts the draft to that of a twin. District and fuel are copied to
// properties of their own, so that households can be found by them.
func (d HouseholdDraft) twin() (entity.Draft, error) {
	props := map[string]any{}
	for name, o := range map[string]entity.Object{"location": d.Location, "baseline": d.Baseline} {
		if !o.IsZero() {
			props[name] = o.Value
		}
	}
	for name, v := range map[string]any{"district": members(d.Location)["district"], "fuelType": members(d.Baseline)["fuelType"]} {
		if v != nil {
			props[name] = v
		}
	}
	for name, v := range map[string]string{"name": d.Name, "phone": d.Phone} {
		if v != "" {
			props[name] = v
		}
	}
	if d.Size != nil {
		props["size"] = *d.Size
	}
	if d.Consent != nil {
		props["consent"] = *d.Consent
	}
	out := entity.Draft{DID: d.DID, Type: entity.HouseholdType, Protocol: entity.HouseholdProtocol, Controllers: d.Controllers, ExternalIDs: d.ExternalIDs}
	out.Relationships = edgesOf("", "", d.Project)
	err := fill(&out, props, members(d.Metadata))
	return out, err
}

// fill adds properties and metadata to a draft, in a fixed order.
func fill(d *entity.Draft, props, meta map[string]any) error {
	text, err := json.Marshal(props, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode properties: %w", err)
	}
	d.Properties = entity.Object{Value: text}
	if len(meta) == 0 {
		return nil
	}
	if text, err = json.Marshal(meta, json.Deterministic(true)); err != nil {
		return fmt.Errorf("encode metadata: %w", err)
	}
	d.Metadata = entity.Object{Value: text}
	return nil
}

// Household is a household as the API shows it.
type Household struct {
	DID         string            `json:"did" example:"did:ixo:household/123"`
	Type        string            `json:"type" example:"Household"`
	Location    entity.Object     `json:"location"`
	Devices     []Ref             `json:"devices" doc:"The newest 100 devices; empty in lists. links.devices has all."`
	MoreDevices bool              `json:"moreDevices,omitzero" doc:"There are more than are shown here."`
	Baseline    entity.Object     `json:"baseline"`
	Name        string            `json:"name,omitzero"`
	Phone       string            `json:"phone,omitzero"`
	Size        *int64            `json:"size,omitzero"`
	Consent     *bool             `json:"consent,omitzero"`
	Project     string            `json:"project,omitzero"`
	ExternalIDs map[string]string `json:"externalIds,omitzero"`
	Status      entity.Status     `json:"status" enum:"draft,active,suspended,completed,deactivated"`
	Revision    int64             `json:"revision"`
	Created     time.Time         `json:"created"`
	Updated     time.Time         `json:"updated"`
	Links       HouseholdLinks    `json:"links"`
	Withheld    []string          `json:"withheld,omitzero" doc:"Personal properties of the twin that you may not see: callers who do not control it need the scope entities:pii."`
}

// Ref is a short description of a device.
type Ref struct {
	DID    string        `json:"did" example:"did:ixo:device/456"`
	Type   string        `json:"type" example:"ElectricPressureCooker"`
	Status entity.Status `json:"status" example:"active"`
}

// householdProps are the properties of a household that are shown.
type householdProps struct {
	Location entity.Object `json:"location"`
	Baseline entity.Object `json:"baseline"`
	Name     string        `json:"name"`
	Phone    string        `json:"phone"`
	Size     *int64        `json:"size"`
	Consent  *bool         `json:"consent"`
}

// householdOf renders a record the caller may see.
func householdOf(e *entity.Entity) *Household {
	var p householdProps
	if err := json.Unmarshal(e.Properties.Value, &p); err != nil {
		p = householdProps{} // another protocol may use the names for other things
	}
	self := "/v1/households/" + escape(e.DID)
	return &Household{
		DID: e.DID, Type: e.Type, Location: orEmpty(p.Location), Devices: []Ref{}, Baseline: orEmpty(p.Baseline), Name: p.Name, Phone: p.Phone,
		Size: p.Size, Consent: p.Consent, Project: e.Project, ExternalIDs: e.ExternalIDs, Status: e.Status, Revision: e.Revision,
		Created: e.Created, Updated: e.Updated, Withheld: e.Withheld,
		Links: HouseholdLinks{
			Self: self, Entity: "/v1/entities/" + escape(e.DID), Devices: "/v1/devices?householdId=" + url.QueryEscape(e.DID), Stacking: self + "/stacking",
		},
	}
}

func orEmpty(o entity.Object) entity.Object {
	if o.IsZero() || o.Kind() != '{' {
		return entity.Object{Value: []byte("{}")}
	}
	return o
}

// escape makes a DID usable as one part of a path.
func escape(did string) string { return url.PathEscape(did) }
