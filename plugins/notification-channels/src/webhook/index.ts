export * from './contract.ts'
export {
  type CodeMeaning,
  isMembers,
  type JudgementRules,
  judgement,
  type Members,
  memberAt,
  memberIs,
} from './judgement.ts'
export { default } from './plugin.ts'
export { webhookProviderPlugin } from './provider-plugin.ts'
export { bodyText, withQuery } from './requests.ts'
export { cutToFit, measure } from './text-limit.ts'
