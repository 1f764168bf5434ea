import { businessFailures } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const refusal = businessFailures('iam', en.iam, {
  'token-missing': '401',
  'token-invalid': '401',
  'token-expired': '401',
  'origin-unproven': '403',
  'permission-denied': '403',
  'out-of-scope': '403',
  'organisation-out-of-scope': '403',
  'creation-out-of-scope': '403',
  'own-password': '403',
  'login-failed': '401',
  'user-disabled': '403',
  busy: '503',
  'reason-invalid': '400',
  'user-unknown': '404',
  'role-unknown': '404',
  'session-unknown': '404',
  'username-invalid': '400',
  'username-mixed-script': '400',
  'email-invalid': '400',
  'mobile-invalid': '400',
  'username-taken': '409',
  'email-taken': '409',
  'email-changed': '409',
  'mobile-taken': '409',
  'role-code-taken': '409',
  'external-identity-taken': '409',
  'version-conflict': '409',
  'last-administrator': '409',
  'beyond-own-authority': '403',
  'role-built-in': '409',
  'role-in-use': '409',
  'permission-unknown': '400',
  'password-wrong': '400',
  'password-refused': '400',
  'changed-meanwhile': '409',
})
