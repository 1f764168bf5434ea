import {
  asPlainText,
  createResponseJudge,
  graphemeStarts,
  type WebhookMessage,
  type WebhookResponse,
  webhookProviderPlugin,
} from '@plinth/notification-channels/webhook'
import { closeCode, isCodeOpen, joinSubjectAndContent, slack, slackMrkdwn, titleFromMessage } from './plain-texts.ts'

/** Maximum characters of one section, and of all sections together. */
const [maxSectionLength, maxTextLength] = [3000, 40_000]

/** Returns the text for places that do not show blocks, such as a locked phone. */
const fallback = ({ written: { subject, content } }: WebhookMessage) =>
  asPlainText(joinSubjectAndContent(subject, content), slack)

/** Matches an entity that was cut in half at the end of a text. */
const cutEntity = /&[a-z]{0,3}$/

/** Length of the fences that a section may need around its part of a code block, with their line ends. */
const fencesLength = 8

/**
 * Splits a text into sections: at the end of a line if possible, otherwise between graphemes. A code block that
 * continues in the next section is closed and opened again, because Slack reads each section separately.
 */
function sections(content: string): string[] {
  const max = content.includes('```') ? maxSectionLength - fencesLength : maxSectionLength
  const pieces: string[] = []
  for (let rest = content; rest !== ''; ) {
    const end = rest.lastIndexOf('\n', max)
    const cut = () => {
      const at = graphemeStarts(rest.slice(0, max + 1))(max) || max
      return rest.slice(0, at).replace(cutEntity, '').length
    }
    const at = rest.length <= max ? rest.length : end > 0 ? end : cut()
    pieces.push(rest.slice(0, at))
    rest = rest.slice(at).replace(/^\n/, '')
  }
  let isInCode = false
  const texts = pieces.map((piece) => {
    const text = isInCode ? `\`\`\`\n${piece}` : piece
    isInCode = isCodeOpen(text)
    return closeCode(text)
  })
  return texts.filter((text) => text.trim() !== '')
}

const said = ({ body }: WebhookResponse) => body.trim()
const word = (response: WebhookResponse) => (/^[a-z_]{1,64}$/.test(said(response)) ? said(response) : undefined)

/** Incoming webhook of Slack. The secret is the path after `/services/`. */
export default webhookProviderPlugin(
  { id: 'webhook-providers.slack', version: '1.0.0' },
  {
    code: 'slack',
    displayName: { en: 'Slack', 'zh-CN': 'Slack' },
    endpoint: 'https://hooks.slack.com/services/',
    knownHosts: ['hooks.slack.com'],
    secret: { use: 'token', into: 'path' },
    messageTypes: {
      text: {
        body: ({ subject, content }) => ({
          text: joinSubjectAndContent(subject, content),
          mrkdwn: false,
          unfurl_links: false,
          unfurl_media: false,
        }),
        plain: slack,
        limit: { max: maxTextLength, unit: 'characters', member: 'text' },
      },
      markdown: {
        body: (message) => {
          const header = { type: 'header', text: { type: 'plain_text', text: titleFromMessage(message, 150) } }
          // With `verbatim`, names of channels and users in a text do not become links.
          const mrkdwn = { type: 'mrkdwn', verbatim: true }
          const texts = sections(message.content).map((text) => ({ type: 'section', text: { ...mrkdwn, text } }))
          return { text: fallback(message), blocks: [...(message.subject === '' ? [] : [header]), ...texts] }
        },
        plain: slackMrkdwn,
        limit: { max: maxTextLength, unit: 'characters', member: 'text' },
      },
    },
    rateLimits: [{ max: 1, windowMs: 1000 }],
    judge: createResponseJudge({
      delivered: (response) => ['', 'ok'].includes(said(response)),
      code: word,
      message: word,
      codes: {
        invalid_payload: { hint: 'payload-invalid' },
        no_text: { hint: 'payload-invalid' },
        too_many_attachments: { hint: 'payload-invalid' },
        user_not_found: { hint: 'recipient-blocked' },
        action_prohibited: { hint: 'recipient-blocked' },
        posting_to_general_channel_denied: { hint: 'recipient-blocked' },
        invalid_token: { hint: 'token-invalid' },
        no_service: { hint: 'token-invalid' },
        no_service_id: { hint: 'token-invalid' },
        no_active_hooks: { hint: 'token-invalid' },
        no_team: { hint: 'token-invalid' },
        team_disabled: { hint: 'robot-disabled' },
        channel_not_found: { hint: 'robot-disabled' },
        channel_is_archived: { hint: 'robot-disabled' },
        rollup_error: { outcome: 'deferred', hint: 'provider-busy' },
      },
    }),
  },
)
