export * from './contract.ts'
export { default } from './plugin.ts'
export { declarePluginKey, PluginEncryption, PluginEncryptionKey, type PluginKeyOptions } from './secrets/secret-box.ts'
