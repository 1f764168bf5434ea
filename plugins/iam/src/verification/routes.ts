import { instant, line, routesWith, Type, withDescription } from '@plinth/http'
import { omitUndefined } from '@plinth/kernel'
import type { Static } from 'typebox'
import { requirePrincipal } from '../access/access-guard.ts'
import { actorOf } from '../accounts/inputs.ts'
import type { Accounts } from '../contract.ts'
import type { VerificationChannel, VerificationCodes, VerificationSubject } from './contract.ts'

const path = '/api/v1/auth/verify'
const scene = Type.Optional(
  line(32, { description: 'Purpose of the code. If absent, the configured default applies.' }),
)
const code = Type.String({ pattern: '^[0-9]{4,10}$' })
const mobile = line(32, { description: 'For example `+8613800000000`.' })
const email = line(254)

const sent = Type.Object({
  expiresAt: withDescription(instant, 'Time at which the code expires.'),
  resendAfter: Type.Integer({
    minimum: 0,
    description: 'Seconds after which another code can be sent to the same recipient.',
  }),
})
const verified = Type.Object({ verified: Type.Literal(true) })

/** Request bodies of each channel. The field for the recipient differs. */
const sendBodies = { sms: Type.Object({ mobile, scene }), email: Type.Object({ email, scene }) }
const checkBodies = { sms: Type.Object({ mobile, scene, code }), email: Type.Object({ email, scene, code }) }

const caseReasons = (channel: VerificationChannel) => [
  'rate-limit.exceeded',
  'rate-limit.store-unavailable',
  'verification.disabled',
  `verification.${channel === 'sms' ? 'mobile' : 'email'}-invalid`,
  'verification.scene-invalid',
  'verification.store-unavailable',
]
const countryReasons = { sms: ['verification.country-not-allowed'], email: [] }

type SendBody = Static<(typeof sendBodies)[VerificationChannel]>
type CheckBody = Static<(typeof checkBodies)[VerificationChannel]>

interface RouteDependencies {
  readonly codes: VerificationCodes
}

const { route } = routesWith<RouteDependencies>()

export const routes = [...routesOf('sms', 'text message'), ...routesOf('email', 'e-mail')]

function routesOf(channel: VerificationChannel, by: string) {
  return [
    route({
      method: 'POST',
      path: `${path}/${channel}-codes`,
      compress: false,
      summary: `Send a verification code by ${by}`,
      access: 'public',
      request: { body: sendBodies[channel] },
      response: sent,
      reasons: [
        ...caseReasons(channel),
        ...countryReasons[channel],
        'verification.sender-missing',
        'verification.delivery-failed',
      ],
      async handler(request, { codes }) {
        const { expiresAt, resendAfter } = await codes.send(subjectOf(channel, request.body), request)
        return { expiresAt: new Date(expiresAt).toISOString(), resendAfter }
      },
    }),
    route({
      method: 'POST',
      path: `${path}/${channel}-codes/check`,
      compress: false,
      summary: `Check a verification code that was sent by ${by}`,
      access: 'public',
      request: { body: checkBodies[channel] },
      response: verified,
      reasons: [...caseReasons(channel), 'verification.code-invalid'],
      async handler(request, { codes }) {
        await codes.check(subjectOf(channel, request.body), request.body.code, request)
        return { verified: true as const }
      },
    }),
  ]
}

/** Scene (purpose) of the codes that confirm the e-mail address of an account. */
const proofScene = 'confirm-email'

/**
 * The last step of changing an e-mail address. The code is sent by the route for e-mail codes with the scene
 * `confirm-email`.
 */
export const proofRoutes = [
  routesWith<RouteDependencies & { readonly accounts: Accounts }>().route({
    method: 'POST',
    path: '/api/v1/iam/users/me/email/confirm',
    summary:
      'Confirm the e-mail address of your account with a code of the scene `confirm-email`; you can then sign in with it',
    access: 'user',
    // The reader of the mails of an account can recover the account.
    fresh: '5m',
    request: { body: Type.Object({ code }) },
    response: verified,
    reasons: [
      ...caseReasons('email'),
      'verification.code-invalid',
      'iam.email-changed',
      'iam.email-taken',
      'iam.user-unknown',
    ],
    async handler(request, { codes, accounts }) {
      const actor = actorOf(request)
      const { userId } = requirePrincipal(request)
      const recipient = (await accounts.find(userId))?.email ?? ''
      await codes.check({ channel: 'email', recipient, scene: proofScene }, request.body.code, request)
      await accounts.confirmEmail(userId, recipient, actor)
      return { verified: true as const }
    },
  }),
]

function subjectOf(channel: VerificationChannel, body: SendBody | CheckBody): VerificationSubject {
  const recipient = 'mobile' in body ? body.mobile : body.email
  return omitUndefined({ channel, recipient, scene: body.scene })
}
