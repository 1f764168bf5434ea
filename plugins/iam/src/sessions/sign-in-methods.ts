import { bilingual as text } from '@plinth/kernel'

/** Names of ways to sign in and to prove the identity. Other plugins may add further ways, which are shown by their code. */
export const signInMethods = {
  password: text('Password', '密码'),
  wallet: text('Wallet', '钱包'),
  'password-change': text('Password confirmed for a new password', '修改密码时确认密码'),
  'email-change': text('Password confirmed for a new e-mail address', '修改邮箱时确认密码'),
  'wallet-proof': text('Identity proven again with the wallet', '用钱包再次验证身份'),
  'password-proof': text('Identity proven again with the password', '用密码再次验证身份'),
}
