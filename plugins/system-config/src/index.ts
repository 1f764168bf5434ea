export * from './contract.ts'
export { default } from './plugin.ts'
export {
  createSealedTextCheck,
  declarePluginKey,
  PluginEncryption,
  PluginEncryptionKey,
  type PluginKeyOptions,
  type SealedText,
} from './secrets/secret-box.ts'
