import { bilingual as text } from '@plinth/kernel'

/** Names of ways to sign in and to prove the identity. Other plugins may add further ways, which are shown by their code. */
export const signInMethods = {
  password: text('Password', '密码'),
  wallet: text('Wallet', '钱包'),
  'password-change': text('Password confirmed for a new password', '修改密码时确认密码'),
  'email-change': text('Password confirmed for a new e-mail address', '修改邮箱时确认密码'),
  'wallet-proof': text('Identity proven again with the wallet', '用钱包再次验证身份'),
  'password-proof': text('Identity proven again with the password', '用密码再次验证身份'),
  passkey: text('Passkey', '通行密钥'),
  'passkey-second': text('Passkey as second factor', '通行密钥作为第二因素'),
  'totp-second': text('One-time password', '动态口令'),
  totp: text('One-time password', '动态口令'),
  'recovery-code': text('Recovery code', '恢复码'),
  'passkey-set-up': text('Passkey set up during the sign-in', '登录时添加通行密钥'),
  'totp-set-up': text('One-time passwords set up during the sign-in', '登录时启用动态口令'),
  'passkey-proof': text('Identity proven again with a passkey', '用通行密钥再次验证身份'),
  'totp-proof': text('Identity proven again with a one-time password', '用动态口令再次验证身份'),
  oidc: text('Sign-in provider', '登录提供方'),
  'oidc-proof': text('Identity proven again with a provider', '通过提供方再次验证身份'),
}
