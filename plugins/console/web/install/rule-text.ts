import type { BrokenRule } from '../field/field-rules.ts'
import type { Say } from '../text/texts.ts'
import type { Field } from './install-form.ts'

/** A broken rule in words. */
export function ruleText(say: Say, { keyword, limit }: BrokenRule, { hints }: Field): string {
  switch (keyword) {
    case 'required':
      return say('rule.required')
    case 'confirm':
      return say('rule.confirm')
    case 'maxLength':
      return say('rule.maxLength', { limit })
    case 'minimum':
    case 'maximum':
      return say('rule.range', { minimum: hints.minimum ?? '…', maximum: hints.maximum ?? '…' })
    default:
      return say('rule.integer')
  }
}
