import { line, routesWith, Type } from '@plinth/http'
import { type OpenScope, openApi } from '@plinth/open-platform'
import { requireAddress } from './addresses.ts'
import type { Chains, TypedDataVerification, VerificationResult, WalletVerifier } from './contract.ts'
import { businessError } from './declarations.ts'

interface OpenRouteDependencies {
  readonly verifier: WalletVerifier
  readonly chains: Pick<Chains, 'get'>
}

const personalScope = 'web3:wallet-signature:personal:verify'
const typedDataScope = 'web3:wallet-signature:typed-data:verify'

export const scopes: readonly OpenScope[] = [
  { code: personalScope, displayName: { en: 'Verify wallet signatures of messages', 'zh-CN': '验证钱包消息签名' } },
  {
    code: typedDataScope,
    displayName: { en: 'Verify wallet signatures of typed data', 'zh-CN': '验证钱包类型化数据签名' },
  },
]

/** Value of the path parameter for any EVM chain. The chain of the typed data is then not compared. */
const anyChain = 'evm'

const path = '/api/v1/open/web3/chains/:chain/wallet-signatures'
const params = Type.Object({
  chain: Type.String({
    pattern: '^[a-z0-9][a-z0-9-]{0,63}$',
    description: 'Name of a chain of the product, or `evm` for any chain.',
  }),
})
/** The maximum length is generous, so that a signature that is too long gets a result instead of an error. */
const signature = Type.String({
  maxLength: 8194,
  description:
    'Signature in hexadecimal with `0x`: 65 or 64 bytes (EIP-2098), or at most 4096 bytes for a contract wallet.',
})
const address = line(100, { description: 'Address of the alleged signer.' })
const reason = Type.Optional(
  Type.String({ description: 'Stable code of the reason why the signature is invalid. Absent if it is valid.' }),
)
const resultMembers = {
  valid: Type.Boolean(),
  address: Type.String({ description: 'Address in lower case.' }),
  recoveredAddress: Type.Optional(
    Type.String({ description: 'Address of the signer. Absent if it cannot be determined.' }),
  ),
  method: Type.Optional(
    Type.Enum(['ecrecover', 'eip-1271'], {
      description:
        'Method of verification: the key of the account, or the contract at the address. A contract may give a different result later.',
    }),
  ),
  chain: Type.String(),
  reason,
}
const text = Type.Optional(Type.String())

const { route } = routesWith<OpenRouteDependencies>()

/**
 * Routes that only verify. They create no login and no data, and use no nonce (document 3 of the specification,
 * "Login", rule 5).
 */
export const openRoutes = [
  route({
    method: 'POST',
    path: `${path}/personal/verify`,
    summary: 'Verify that an address signed a message with personal_sign',
    access: 'signed',
    annotations: [openApi({ scopes: [personalScope] })],
    request: {
      params,
      body: Type.Object({
        address,
        message: Type.String({ minLength: 1, maxLength: 32_770 }),
        messageEncoding: Type.Optional(
          Type.Enum(['utf8', 'hex'], {
            description:
              'Encoding of `message`. `utf8` (default): the text itself was signed. `hex`: the bytes that the text represents were signed.',
          }),
        ),
        signature,
      }),
    },
    response: Type.Object(resultMembers),
    reasons: ['web3.address-invalid', 'web3.chain-unknown'],
    handler: async ({ params, body }, { verifier, chains }) => {
      const chainId = await chainIdOf(chains, params.chain)
      const { messageEncoding = 'utf8' } = body
      const signed = { ...body, address: requireAddress(body.address), messageEncoding }
      const isAny = chainId === undefined
      return viewOf(
        isAny ? verifier.verifyPersonal(signed) : await verifier.verifyPersonalOnChain(chainId, signed),
        params.chain,
      )
    },
  }),
  route({
    method: 'POST',
    path: `${path}/typed-data/verify`,
    summary: 'Verify that an address signed typed data (EIP-712)',
    access: 'signed',
    annotations: [openApi({ scopes: [typedDataScope] })],
    request: {
      params,
      body: Type.Object({
        address,
        typedData: Type.String({
          minLength: 2,
          maxLength: 65_536,
          description: 'Typed data that was signed, as JSON text. Write integers above 2^53-1 as strings.',
        }),
        signature,
      }),
    },
    response: Type.Object({
      ...resultMembers,
      primaryType: text,
      domain: Type.Optional(
        Type.Object(
          { name: text, version: text, chainId: text, verifyingContract: text, salt: text },
          {
            description:
              'Signed content. Compare it with your expectation, including nonce, deadline and amounts, before you act on it.',
          },
        ),
      ),
    }),
    reasons: ['web3.address-invalid', 'web3.chain-unknown'],
    handler: async ({ params, body }, { verifier, chains }) => {
      const chainId = await chainIdOf(chains, params.chain)
      const signed = { ...body, address: requireAddress(body.address) }
      const isAny = chainId === undefined
      return viewOf(
        isAny ? verifier.verifyTypedData(signed) : await verifier.verifyTypedDataOnChain(chainId, signed),
        params.chain,
      )
    },
  }),
]

/**
 * Returns the id of a chain; undefined for any chain. @throws BusinessError "404" `web3.chain-unknown`, also for a
 * disabled chain
 */
async function chainIdOf(chains: Pick<Chains, 'get'>, name: string): Promise<number | undefined> {
  if (name === anyChain) return undefined
  const chain = await chains.get(name)
  if (chain === undefined || !chain.enabled) throw businessError('chain-unknown')
  return chain.chainId
}

const viewOf = <Result extends VerificationResult | TypedDataVerification>(
  { agreedProviders: _, ...result }: Result,
  chain: string,
) => ({ ...result, chain })
