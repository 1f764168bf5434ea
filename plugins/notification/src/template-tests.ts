import type { Database } from '@plinth/database'
import { bulkRateLimit, id, routesWith, Type } from '@plinth/http'
import { assertPermitted, type Identity, requirePrincipal } from '@plinth/iam'
import { bilingual } from '@plinth/kernel'
import type { Templates, TemplateUses } from '@plinth/template'
import { permissionCodes } from './declarations.ts'
import { NotificationRow } from './entities.ts'
import type { ChannelNotification } from './facade/channel-notification.ts'
import { sendResult } from './facade/results.ts'

interface TemplateTestDependencies {
  readonly templates: Pick<Templates, 'sample'>
  readonly notification: ChannelNotification
  /** Checks the data scope of the caller. Undefined in a product without users. */
  readonly identity: Pick<Identity, 'assertInScope'> | undefined
}

const { route } = routesWith<TemplateTestDependencies>()

/** Sends a template with its test values to the caller, so that nobody else gets a test message. */
export const templateTestRoutes = [
  route({
    method: 'POST',
    path: '/api/v1/admin/notification/template-tests',
    summary: 'Send a message template with its test values to yourself',
    description: 'The preferences of the caller apply. The caller also needs the permission to view templates.',
    access: { permission: permissionCodes.messageSend, scope: 'caller' },
    annotations: [bulkRateLimit],
    request: {
      body: Type.Object({
        templateId: id,
        text: Type.Enum(['draft', 'published'], {
          description: '`draft`: the draft, or the published text if there is none.',
        }),
        channel: Type.String({ minLength: 1, maxLength: 64, description: 'Code of the channel.' }),
      }),
    },
    response: sendResult,
    reasons: [
      'iam.out-of-scope',
      'notification.channel-unknown',
      'notification.message-empty',
      'template.compile-timeout',
      'template.compiler-busy',
      'template.html-format',
      'template.output-too-large',
      'template.source-refused',
      'template.test-values-refused',
      'template.test-values-unknown',
      'template.unknown',
      'template.value-refused',
    ],
    async handler(request, { templates, notification, identity }) {
      const principal = requirePrincipal(request)
      assertPermitted({ permission: 'template:template:view', scope: 'none' }, principal)
      const { templateId, text, channel } = request.body
      const { subject, content, html, attachments: files, locale } = await templates.sample(templateId, text)
      const { userId, username: name } = principal
      await identity?.assertInScope(principal, [userId])
      const message = {
        subject,
        content,
        locale,
        files,
        recipients: [{ kind: 'user' as const, userId }],
        attributes: { traceId: request.traceId },
        ...(html === undefined ? {} : { html }),
      }
      const [result] = await notification.sendAs(message, { channels: [channel] }, { userId, name })
      if (result === undefined) throw new Error('One channel gives one result')
      return result
    },
  }),
]

/** Messages that wait and use a template. They are sent with the version that was published when they were stored. */
export const waitingMessages = (db: Database): TemplateUses => ({
  title: bilingual('Waiting message', '等待发送的消息'),
  async find(template, limit) {
    const rows = await db
      .fork()
      .find(
        NotificationRow,
        { state: { $in: ['queued', 'sending'] }, template },
        { fields: ['id', 'subject'], limit, orderBy: { id: 'desc' } },
      )
    return rows.map(({ id, subject }) => ({ code: template, name: subject, page: 'notification.message', id }))
  },
})
