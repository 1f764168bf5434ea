import { categoryOf as categoryOfModule, type NotificationPreferences } from '@plinth/inbox'
import type { NotificationRule } from './contract.ts'
import { categoryOf } from './rule-templates.ts'

/** Users, and the channels by which they receive the same alert. */
interface Audience {
  readonly channels: readonly string[]
  readonly userIds: readonly number[]
}

/**
 * Codes of enabled rules with a recipient, also one of the escalation, whom no channel of the rule reaches, because the recipient
 * has switched the category off, or each of these channels. Document 2 lets users do that ("Preferences"), so operations must be
 * able to see it.
 */
export async function silencedRuleCodes(
  rules: readonly NotificationRule[],
  preferences: Pick<NotificationPreferences, 'wanted'>,
): Promise<readonly string[]> {
  const questions = new Map<
    string,
    { readonly channel: string; readonly module: string; readonly users: Set<number> }
  >()
  const enabled = rules
    .filter((rule) => rule.enabled)
    .map((rule) => ({ code: rule.code, module: categoryOf(rule.code), audiences: audiencesOf(rule) }))
  for (const { module, audiences } of enabled) {
    for (const { channels, userIds } of audiences) {
      for (const channel of channels) {
        const question = questions.get(`${channel} ${module}`) ?? { channel, module, users: new Set<number>() }
        for (const userId of userIds) question.users.add(userId)
        questions.set(`${channel} ${module}`, question)
      }
    }
  }
  const wanted = new Map<string, ReadonlySet<number>>()
  for (const [name, { channel, module, users }] of questions) {
    wanted.set(name, await preferences.wanted([...users], { channel, category: categoryOfModule(module) }))
  }
  const isSilenced = (module: string, { channels, userIds }: Audience) =>
    userIds.some((userId) => !channels.some((channel) => wanted.get(`${channel} ${module}`)?.has(userId)))
  return enabled
    .filter(({ module, audiences }) => audiences.some((audience) => isSilenced(module, audience)))
    .map(({ code }) => code)
}

/** An escalation adds recipients and channels to those of the rule. */
function audiencesOf({ channels, recipientUserIds, escalation }: NotificationRule): readonly Audience[] {
  const escalated = { channels: [...channels, ...escalation.channels], userIds: escalation.recipientUserIds }
  return [{ channels, userIds: recipientUserIds }, ...(escalation.enabled ? [escalated] : [])]
}
