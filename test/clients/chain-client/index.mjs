// Stands in for @ixo/oracles-chain-client, which needs packages the registry
// does not serve. The SDK asks it where an oracle lives; nothing of it talks to
// the oracle. What the scenarios do not need refuses.

const refuse = () => {
  throw new Error("the stand-in for the chain cannot do this");
};

export const gqlClient = {
  // The address of the server under test, as an entity of the chain names it.
  async GetEntityById({ id }) {
    const serviceEndpoint = `${process.env.URL}/ignored/path`;
    return {
      entity: {
        id,
        type: "oracle",
        service: [
          { id: "{id}#api", type: "oracleService", serviceEndpoint },
          { id: "{id}#ws", type: "wsService", serviceEndpoint },
        ],
      },
    };
  },
};

export class Authz {
  static async getOracleAuthZConfig({ oracleDid, granterAddress }) {
    return { oracleDid, granterAddress, granteeAddress: "ixo1oracle", oracleName: "test", requiredPermissions: [] };
  }
  contractOracle = refuse;
}

export class Payments {
  async getOraclePricingList() {
    return [];
  }
  payClaim = refuse;
}

export class CryptoUtils {
  static encrypt = refuse;
  static decrypt = refuse;
}

export const getOracleAgentCard = async () => null;
export const normalizeMatrixHomeServerUrl = (url) => url;
export const getMatrixUrlsForDid = async () => ({ homeServer: "", homeServerCropped: "" });
export const getMatrixHomeServerCroppedForDid = async () => "";
export const AgentCardSchema = {};
export const AgentCardServiceSchema = {};
